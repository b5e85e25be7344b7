-- A job goes to one list or to several, one after the other: the rows of its recipients stand list by list. Here are all
-- but the first of these lists.
ALTER TABLE send_job ADD COLUMN lists INTEGER NOT NULL DEFAULT 1; -- how many

CREATE TABLE further_list (
  job_no    INTEGER NOT NULL,
  place     INTEGER NOT NULL, -- from 1
  list_id   TEXT NOT NULL,
  after_seq INTEGER,          -- of the last recipient before those of the list; NULL: it has not come to it yet
  PRIMARY KEY (job_no, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX further_list_list ON further_list (list_id, job_no);

ALTER TABLE frozen_content ADD COLUMN list_names TEXT NOT NULL DEFAULT '[]'; -- JSON: of the further lists, in their order
