-- People whom a file calls unsubscribed, bounced, complained or suppressed are imported as such.
ALTER TABLE import_job ADD COLUMN unsubscribed INTEGER NOT NULL DEFAULT 0; -- rows, as are the next four
ALTER TABLE import_job ADD COLUMN bounced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE import_job ADD COLUMN complained INTEGER NOT NULL DEFAULT 0;
ALTER TABLE import_job ADD COLUMN suppressed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE import_job ADD COLUMN not_permitted INTEGER NOT NULL DEFAULT 0; -- left out: whoever ran it may not
ALTER TABLE import_job ADD COLUMN suppress INTEGER NOT NULL DEFAULT 0; -- every row is an address that must not be emailed
ALTER TABLE import_job ADD COLUMN may_end INTEGER NOT NULL DEFAULT 0; -- whoever ran it has people.change
ALTER TABLE import_job ADD COLUMN may_suppress INTEGER NOT NULL DEFAULT 0; -- whoever ran it has suppression.manage
ALTER TABLE import_job ADD COLUMN barred INTEGER NOT NULL DEFAULT 0; -- rows of suppression that it has added
ALTER TABLE import_job ADD COLUMN undo_resumed INTEGER NOT NULL DEFAULT 0; -- active again
ALTER TABLE import_job ADD COLUMN undo_lifted INTEGER NOT NULL DEFAULT 0; -- rows of suppression removed again
-- The import that has added the row; empty: none, or something else has confirmed it since.
ALTER TABLE suppression ADD COLUMN import_id TEXT NOT NULL DEFAULT '';
CREATE INDEX suppression_import ON suppression (import_id) WHERE import_id <> '';
