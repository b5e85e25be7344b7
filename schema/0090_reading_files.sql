-- How a file of subscribers is read, and what reading it found.
ALTER TABLE import_job ADD COLUMN known_only INTEGER NOT NULL DEFAULT 0; -- columns of which nothing is known are left out
ALTER TABLE import_job ADD COLUMN no_address INTEGER NOT NULL DEFAULT 0; -- contacts without an e-mail address
ALTER TABLE import_job ADD COLUMN typos TEXT NOT NULL DEFAULT '[]'; -- core.DomainTypos, as JSON
