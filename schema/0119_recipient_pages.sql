-- The ids of the recipients of ended jobs in pages of 2,048, which are faster to read than their rows. See
-- store/mailed. paged is 1 when a job has all its pages, or gets none.
CREATE TABLE recipient_page (
  job_no    INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  first_id  TEXT NOT NULL,
  states    BLOB NOT NULL, -- a byte for each recipient: 0 got nothing, 1 may have got the email, 2 got it
  ids       BLOB NOT NULL, -- 16 bytes for each
  PRIMARY KEY (job_no, first_seq, first_id) -- the search for an id reads only the index
) STRICT;

ALTER TABLE send_job ADD COLUMN paged INTEGER NOT NULL DEFAULT 0;

CREATE INDEX send_job_unpaged ON send_job (no) WHERE finished_at > 0 AND paged = 0 AND recipients >= 4096;
