-- Campaigns: what is written, looked at, approved, and only then sent.

CREATE TABLE campaign (
  no               INTEGER PRIMARY KEY AUTOINCREMENT,
  id               TEXT NOT NULL UNIQUE,
  tenant_id        TEXT NOT NULL,
  state            TEXT NOT NULL CHECK (state IN ('draft', 'in_review', 'approved', 'scheduled', 'sending', 'sent', 'archived')),
  name             TEXT NOT NULL DEFAULT '', -- name and subject of the version, for lists
  subject          TEXT NOT NULL DEFAULT '',
  revision         INTEGER NOT NULL DEFAULT 1, -- grows with every change: the ETag
  version          INTEGER NOT NULL DEFAULT 1, -- what is written on
  approved_version INTEGER NOT NULL DEFAULT 0,
  approved_by      TEXT NOT NULL DEFAULT '',
  approved_at      INTEGER NOT NULL DEFAULT 0,
  last_approved    INTEGER NOT NULL DEFAULT 0, -- the version approved last, also when it was written on since
  copy_id          TEXT NOT NULL DEFAULT '', -- of the approved version
  job_no           INTEGER NOT NULL DEFAULT 0, -- the last job that sends or sent it
  review_by        TEXT NOT NULL DEFAULT '', -- who asked for the review
  review_wanted_at INTEGER NOT NULL DEFAULT 0,
  review_note      TEXT NOT NULL DEFAULT '',
  created_by       TEXT NOT NULL DEFAULT '',
  created_at       INTEGER NOT NULL,
  updated_by       TEXT NOT NULL DEFAULT '',
  updated_at       INTEGER NOT NULL
) STRICT;
CREATE INDEX campaign_tenant ON campaign (tenant_id, no);
CREATE INDEX campaign_state ON campaign (tenant_id, state, no);
CREATE INDEX campaign_job ON campaign (job_no) WHERE job_no <> 0;

CREATE TABLE campaign_version (
  no          INTEGER PRIMARY KEY,
  campaign_no INTEGER NOT NULL,
  version     INTEGER NOT NULL,
  fields      TEXT NOT NULL, -- JSON of what is written; empty: as the copy with the campaign's id, for it came with a job
  closed      INTEGER NOT NULL DEFAULT 0, -- 1: another person has looked at it, so the next save begins another one
  kept        INTEGER NOT NULL DEFAULT 0, -- 1: tested, approved, restored or named: neither written on nor dropped
  name        TEXT NOT NULL DEFAULT '',
  saved_by    TEXT NOT NULL DEFAULT '',
  begun_at    INTEGER NOT NULL,
  saved_at    INTEGER NOT NULL,
  UNIQUE (campaign_no, version)
) STRICT;

CREATE TABLE campaign_list (
  list_id     TEXT NOT NULL,
  campaign_no INTEGER NOT NULL,
  PRIMARY KEY (list_id, campaign_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX campaign_list_campaign ON campaign_list (campaign_no);

CREATE INDEX send_job_campaign ON send_job (campaign_id, no);
CREATE INDEX send_job_copy ON send_job (copy_id);

INSERT INTO campaign (id, tenant_id, state, name, subject, approved_version, last_approved, approved_by, approved_at, copy_id, job_no,
    created_by, created_at, updated_by, updated_at)
SELECT c.id, c.tenant_id, CASE WHEN j.no IS NULL THEN 'draft' WHEN j.status = 'pending' THEN 'scheduled'
      WHEN j.status = 'running' THEN 'sending' WHEN j.status = 'completed' OR j.recipients > 0 THEN 'sent'
      WHEN j.status = 'cancelled' THEN 'draft' ELSE 'approved' END,
    c.name, c.subject, 1, 1, coalesce(j.created_by, ''), c.created_at, c.id, coalesce(j.no, 0),
    coalesce(j.created_by, ''), c.created_at, coalesce(j.created_by, ''), c.created_at
  FROM campaign_copy AS c LEFT JOIN send_job AS j ON j.no = (SELECT max(no) FROM send_job WHERE copy_id = c.id)
  ORDER BY j.no;
UPDATE campaign SET approved_version = 0, approved_by = '', approved_at = 0, copy_id = '' WHERE state = 'draft';
INSERT INTO campaign_version (campaign_no, version, fields, kept, saved_by, begun_at, saved_at)
SELECT no, 1, '', 1, created_by, created_at, created_at FROM campaign;
INSERT INTO campaign_list (list_id, campaign_no)
SELECT j.list_id, c.no FROM campaign AS c JOIN send_job AS j ON j.no = c.job_no;

-- A campaign follows its job. One that was stopped before it had a recipient can be sent again.
CREATE TRIGGER campaign_follows_job AFTER UPDATE OF status ON send_job WHEN NEW.status <> OLD.status BEGIN
  UPDATE campaign SET revision = revision + 1, state = CASE
      WHEN NEW.status = 'running' THEN 'sending'
      WHEN NEW.status = 'completed' OR NEW.recipients > 0 THEN 'sent'
      WHEN NEW.status = 'cancelled' THEN 'draft'
      ELSE 'approved' END,
    approved_version = iif(NEW.status = 'cancelled' AND NEW.recipients = 0, 0, approved_version),
    copy_id = iif(NEW.status = 'cancelled' AND NEW.recipients = 0, '', copy_id)
  WHERE job_no = NEW.no AND job_no <> 0 AND state IN ('scheduled', 'sending');
END;
