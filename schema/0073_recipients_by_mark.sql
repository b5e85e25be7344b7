-- Those of whom more is known than that their mail arrived, who has clicked say, are found without reading all recipients
-- of a job. A mail that is sent has no marks, so sending costs as much as before.
CREATE INDEX recipient_marked ON recipient (job_no, seq, marks) WHERE marks > 1;
