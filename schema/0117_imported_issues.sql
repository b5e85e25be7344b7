-- Exports of other tools: posts that were uploaded, and issues that they have become. Such an issue has no campaign; its
-- campaign_no is its own number, negated.
ALTER TABLE import_job ADD COLUMN tool TEXT NOT NULL DEFAULT '';
ALTER TABLE import_job ADD COLUMN posts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE import_job ADD COLUMN posts_skipped INTEGER NOT NULL DEFAULT 0; -- too large, or without content

CREATE TABLE import_post (
  import_id TEXT NOT NULL,
  no        INTEGER NOT NULL,
  title     TEXT NOT NULL,
  summary   TEXT NOT NULL,
  slug      TEXT NOT NULL,
  author    TEXT NOT NULL,
  kind      TEXT NOT NULL,
  posted_at INTEGER NOT NULL,
  draft     INTEGER NOT NULL,
  paid      INTEGER NOT NULL,
  body      TEXT NOT NULL, -- clean HTML
  issue_no  INTEGER NOT NULL DEFAULT 0, -- 0: not an issue yet, or no more
  PRIMARY KEY (import_id, no)
) STRICT;

CREATE TABLE imported_issue (
  issue_no INTEGER PRIMARY KEY,
  source   TEXT NOT NULL,
  author   TEXT NOT NULL,
  kind     TEXT NOT NULL,
  body     TEXT NOT NULL -- clean HTML
) STRICT;

CREATE TRIGGER imported_issue_goes AFTER DELETE ON issue WHEN OLD.campaign_no < 0 BEGIN
  DELETE FROM imported_issue WHERE issue_no = OLD.no;
END;
