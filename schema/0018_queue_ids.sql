-- The names that a provider gave mails in its replies, by which its events may tell of them.
CREATE TABLE queue_id (
  id      TEXT PRIMARY KEY,
  job_no  INTEGER NOT NULL,
  seq     INTEGER NOT NULL,
  sent_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX queue_id_sent ON queue_id (sent_at);
