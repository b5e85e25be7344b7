-- Public archives: which campaigns a list shows to everyone, and at which address.

ALTER TABLE list ADD COLUMN archive INTEGER NOT NULL DEFAULT 0;
ALTER TABLE list ADD COLUMN slug TEXT NOT NULL DEFAULT ''; -- its place in the address; empty: the id
CREATE INDEX list_slug ON list (slug) WHERE slug <> '';

-- empty: shown where the list has an archive
ALTER TABLE campaign ADD COLUMN archive TEXT NOT NULL DEFAULT '' CHECK (archive IN ('', 'shown', 'hidden'));
UPDATE campaign SET archive = 'hidden';

CREATE TABLE issue (
  no          INTEGER PRIMARY KEY,
  list_id     TEXT NOT NULL,
  campaign_no INTEGER NOT NULL,
  slug        TEXT NOT NULL, -- its place in the address, below that of the list
  title       TEXT NOT NULL, -- subject and preheader, as a reader of whom nothing is known sees them
  summary     TEXT NOT NULL,
  sent_at     INTEGER NOT NULL DEFAULT 0, -- when the first mail could go out; 0: not yet
  UNIQUE (list_id, slug),
  UNIQUE (campaign_no, list_id)
) STRICT;
CREATE INDEX issue_sent ON issue (list_id, sent_at, no);

CREATE TRIGGER issue_follows_job AFTER UPDATE OF status ON send_job WHEN NEW.status = 'running' AND OLD.status <> 'running' BEGIN
  UPDATE issue SET sent_at = NEW.started_at WHERE sent_at = 0 AND campaign_no IN (SELECT no FROM campaign WHERE job_no = NEW.no);
END;
