-- The mails of a job that came back are found without reading all of its recipients.
CREATE INDEX recipient_bounced ON recipient (job_no, seq) WHERE marks & 2 <> 0;
