-- Tags that imports give to people.
ALTER TABLE import_job ADD COLUMN tagged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE import_job ADD COLUMN new_tags INTEGER NOT NULL DEFAULT 0;
ALTER TABLE import_job ADD COLUMN tags_skipped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE import_job ADD COLUMN made_tags TEXT NOT NULL DEFAULT '[]'; -- ids of the tags that it created
ALTER TABLE import_job ADD COLUMN undo_untagged INTEGER NOT NULL DEFAULT 0;

-- The tag that people get when they confirm a signup.
ALTER TABLE list ADD COLUMN signup_tag_id TEXT NOT NULL DEFAULT '';
