-- An import can be taken back for a week. Whom it has made a subscriber stands in import_chunk of kind 2: an instant, and
-- the ids whose status it changed then.
ALTER TABLE import_job ADD COLUMN brought INTEGER NOT NULL DEFAULT 0; -- ids in these chunks
ALTER TABLE import_job ADD COLUMN undo_status TEXT NOT NULL DEFAULT ''; -- running, done
ALTER TABLE import_job ADD COLUMN undo_by TEXT NOT NULL DEFAULT '';
ALTER TABLE import_job ADD COLUMN undone_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE import_job ADD COLUMN undo_removed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE import_job ADD COLUMN undo_pending INTEGER NOT NULL DEFAULT 0;
ALTER TABLE import_job ADD COLUMN undo_kept INTEGER NOT NULL DEFAULT 0;
CREATE INDEX import_job_undo ON import_job (id) WHERE undo_status = 'running';
