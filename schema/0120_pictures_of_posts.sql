-- Pictures in the posts of an export: they are copied from the other tool's server once the posts are issues.
ALTER TABLE import_job ADD COLUMN pictures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE import_job ADD COLUMN pictures_skipped INTEGER NOT NULL DEFAULT 0; -- beyond the limit of an import
ALTER TABLE import_job ADD COLUMN post_bytes INTEGER NOT NULL DEFAULT 0; -- size of its rows of import_post
ALTER TABLE import_post ADD COLUMN fetching INTEGER NOT NULL DEFAULT 0; -- its issue waits for pictures
ALTER TABLE imported_issue ADD COLUMN body_sum TEXT NOT NULL DEFAULT ''; -- SHA-256 of the body before pictures were replaced

CREATE INDEX import_job_posts ON import_job (tenant_id, post_bytes) WHERE post_bytes > 0;

CREATE INDEX import_post_fetching ON import_post (import_id, no) WHERE fetching = 1;

CREATE INDEX import_post_issue ON import_post (issue_no) WHERE issue_no > 0;

CREATE TABLE import_picture (
  import_id TEXT NOT NULL,
  no        INTEGER NOT NULL,
  address   TEXT NOT NULL, -- in the posts; of a picture inside a post, its type and SHA-256
  state     TEXT NOT NULL DEFAULT 'listed' CHECK (state IN ('listed', 'waiting', 'stored', 'failed', 'removing')),
  reason    TEXT NOT NULL DEFAULT '', -- why it failed
  media_id  TEXT NOT NULL DEFAULT '', -- the image that the import has added
  PRIMARY KEY (import_id, no)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX import_picture_address ON import_picture (import_id, address);

CREATE INDEX import_picture_state ON import_picture (import_id, state);

CREATE INDEX import_picture_media ON import_picture (import_id, media_id);

CREATE INDEX import_picture_removing ON import_picture (import_id, no) WHERE state = 'removing';
