-- What pages show of a campaign instead of what was sent.

CREATE TABLE correction (
  campaign_no INTEGER PRIMARY KEY,
  copy_id     TEXT NOT NULL, -- the campaign_copy that is shown
  subject     TEXT NOT NULL,
  source      TEXT NOT NULL,
  text        TEXT NOT NULL,
  made_by     TEXT NOT NULL,
  made_at     INTEGER NOT NULL
) STRICT;

ALTER TABLE issue ADD COLUMN changed_at INTEGER NOT NULL DEFAULT 0; -- a link of it was mended, or it was corrected
