-- The language that a user chose for the console, the account page and account emails; empty: the browser's.
ALTER TABLE user ADD COLUMN language TEXT NOT NULL DEFAULT '';
