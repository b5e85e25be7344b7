-- The job whose mail held the link by which a subscription ended (0: none): taking that back takes it off the job's count.
ALTER TABLE consent ADD COLUMN job_no INTEGER NOT NULL DEFAULT 0;
