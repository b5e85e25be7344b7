-- How many recipients of a running job wait for another try, and when the last of them is given up at the latest.
ALTER TABLE send_job ADD COLUMN deferred INTEGER NOT NULL DEFAULT 0;
ALTER TABLE send_job ADD COLUMN gives_up_at INTEGER NOT NULL DEFAULT 0;
UPDATE send_job SET deferred = (SELECT count(*) FROM recipient WHERE job_no = send_job.no AND state = 1),
  gives_up_at = coalesce((SELECT max(due_at + CASE tries WHEN 1 THEN 166500000 WHEN 2 THEN 165600000 WHEN 3 THEN 162000000
    WHEN 4 THEN 151200000 WHEN 5 THEN 129600000 WHEN 6 THEN 86400000 WHEN 7 THEN 43200000 ELSE 0 END)
    FROM recipient WHERE job_no = send_job.no AND state = 1), 0)
  WHERE status = 'running';
UPDATE send_job SET gives_up_at = min(gives_up_at, window_end) WHERE window_end > 0;

-- Recipients are found by what became of them (deferred, failed, skipped) and by the code (RFC 5321 section 4.2) and enhanced status
-- code (RFC 3463) of a refusal. Rows are only added: the recipient says whether a word still holds. An index on the recipients
-- would cost each mail that is sent as much again as its record.
CREATE TABLE recipient_word (
  job_no INTEGER NOT NULL,
  word   TEXT NOT NULL,
  seq    INTEGER NOT NULL,
  PRIMARY KEY (job_no, word, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO recipient_word SELECT job_no, CASE state WHEN 1 THEN 'deferred' WHEN 3 THEN 'failed' ELSE 'skipped' END, seq
  FROM recipient WHERE state IN (1, 3, 4);
INSERT INTO recipient_word SELECT job_no, substr(reason, 1, 3), seq
  FROM recipient WHERE state IN (1, 3) AND substr(reason, 1, 4) GLOB '[45][0-9][0-9] ';
INSERT INTO recipient_word SELECT job_no, substr(reason, 5, instr(substr(reason, 5) || ' ', ' ') - 1), seq
  FROM recipient WHERE state IN (1, 3) AND substr(reason, 4, 3) GLOB ' [45].';
