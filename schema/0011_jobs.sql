-- Send jobs: the rule that stops one, jobs that retry another, and what readers opened and followed.

ALTER TABLE send_job ADD COLUMN hard_bounced INTEGER NOT NULL DEFAULT 0;    -- of bounced
ALTER TABLE send_job ADD COLUMN machine_opened INTEGER NOT NULL DEFAULT 0;  -- of opened: by machines alone
ALTER TABLE send_job ADD COLUMN machine_clicked INTEGER NOT NULL DEFAULT 0; -- of clicked: by machines alone
ALTER TABLE send_job ADD COLUMN unstoppable INTEGER NOT NULL DEFAULT 0;     -- 1: resumed; the stop rule is not asked again
CREATE INDEX send_job_retry ON send_job (retry_of) WHERE retry_of <> '';

-- Addresses that links of a job's mails lead to by way of ours. no is what stands in the mails.
CREATE TABLE link (
  job_no          INTEGER NOT NULL,
  no              INTEGER NOT NULL,
  url             TEXT NOT NULL,
  clicked         INTEGER NOT NULL DEFAULT 0, -- recipients
  machine_clicked INTEGER NOT NULL DEFAULT 0, -- of them: machines alone
  PRIMARY KEY (job_no, no)
) STRICT, WITHOUT ROWID;

-- What was opened (link 0) or followed of one mail; a row each, however often.
CREATE TABLE engagement (
  job_no   INTEGER NOT NULL,
  seq      INTEGER NOT NULL,
  link_no  INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at  INTEGER NOT NULL,
  times    INTEGER NOT NULL,
  machine  INTEGER NOT NULL, -- of times: by machines
  PRIMARY KEY (job_no, seq, link_no)
) STRICT, WITHOUT ROWID;
