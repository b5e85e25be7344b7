-- What an import has replaced of people who were on the list before, for as long as it can be taken back: by name what
-- was there, and a digest of what the file has made of it.
CREATE TABLE import_before (
  import_id       TEXT NOT NULL,
  subscription_id TEXT NOT NULL,
  fields          TEXT NOT NULL,
  PRIMARY KEY (import_id, subscription_id)
) STRICT, WITHOUT ROWID;
ALTER TABLE import_job ADD COLUMN replaced INTEGER NOT NULL DEFAULT 0; -- people in import_before
ALTER TABLE import_job ADD COLUMN replaced_bytes INTEGER NOT NULL DEFAULT 0; -- of their fields there
ALTER TABLE import_job ADD COLUMN replaced_unkept INTEGER NOT NULL DEFAULT 0; -- people of whom nothing is kept
ALTER TABLE import_job ADD COLUMN undo_restored INTEGER NOT NULL DEFAULT 0;
ALTER TABLE import_job ADD COLUMN undo_unrestored INTEGER NOT NULL DEFAULT 0;
