-- Bulk actions that tag people, or remove a tag from them.
ALTER TABLE bulk_action ADD COLUMN tag_id TEXT NOT NULL DEFAULT ''; -- of the kinds tag and untag
