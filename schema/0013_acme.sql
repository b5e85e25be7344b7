-- Certificates that the daemon gets by ACME, with their keys and that of the account, sealed as other secrets are.
CREATE TABLE acme_cache (
  name       TEXT PRIMARY KEY,
  data       BLOB NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
