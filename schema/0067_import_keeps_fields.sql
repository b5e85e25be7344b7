-- Who ran the import may not change subscribers: the fields of those who are on the list stay as they are.
ALTER TABLE import_job ADD COLUMN keep_fields INTEGER NOT NULL DEFAULT 0;
