-- Who leaves by a mail from before an import was taken back is kept as having left, also once the record of the import is
-- gone.
ALTER TABLE list ADD COLUMN import_undone INTEGER NOT NULL DEFAULT 0;
UPDATE list SET import_undone = 1 WHERE id IN (SELECT list_id FROM import_job WHERE undo_status <> '');
