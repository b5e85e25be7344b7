-- Program whose export an import is.
ALTER TABLE import_job ADD COLUMN tool TEXT NOT NULL DEFAULT '';
