-- To whom a tenant's tests go, and in which time zone times without an offset are read.

ALTER TABLE tenant ADD COLUMN test_addresses TEXT NOT NULL DEFAULT '[]';
ALTER TABLE tenant ADD COLUMN time_zone TEXT NOT NULL DEFAULT ''; -- a name of the IANA database; empty: none
