-- Openings and clicks that are counted without their readers: pixel and links name none.

ALTER TABLE tenant ADD COLUMN totals_only INTEGER NOT NULL DEFAULT 0;
ALTER TABLE campaign_copy ADD COLUMN totals INTEGER NOT NULL DEFAULT 0;

CREATE TABLE total (
  job_no   INTEGER NOT NULL,
  link_no  INTEGER NOT NULL, -- 0: openings
  people   INTEGER NOT NULL DEFAULT 0, -- times, not readers
  unclear  INTEGER NOT NULL DEFAULT 0,
  scanners INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (job_no, link_no)
) STRICT, WITHOUT ROWID;
