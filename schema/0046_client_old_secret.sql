-- The secret of an OAuth client before its newest, which stays good for a while when it is replaced so.

ALTER TABLE client ADD COLUMN old_secret_hash BLOB NOT NULL DEFAULT x'';
ALTER TABLE client ADD COLUMN old_secret_until INTEGER NOT NULL DEFAULT 0;
