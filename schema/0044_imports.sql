-- Files of subscribers that were uploaded, and their imports.

CREATE TABLE import_job (
  id                  TEXT PRIMARY KEY,
  tenant_id           TEXT NOT NULL,
  list_id             TEXT NOT NULL,
  name                TEXT NOT NULL,
  bytes               INTEGER NOT NULL DEFAULT 0,
  status              TEXT NOT NULL CHECK (status IN
    ('uploading', 'uploaded', 'waiting', 'running', 'checked', 'completed', 'failed', 'cancelled', 'deleted')),
  dry_run             INTEGER NOT NULL DEFAULT 0,
  subscriber_status   TEXT NOT NULL DEFAULT 'active' CHECK (subscriber_status IN ('active', 'pending')),
  source              TEXT NOT NULL DEFAULT '',
  mapping             TEXT NOT NULL DEFAULT '{}',
  lines               INTEGER NOT NULL DEFAULT 0,
  added               INTEGER NOT NULL DEFAULT 0,
  updated             INTEGER NOT NULL DEFAULT 0,
  unchanged           INTEGER NOT NULL DEFAULT 0,
  kept                INTEGER NOT NULL DEFAULT 0,
  contradicted        INTEGER NOT NULL DEFAULT 0,
  pending             INTEGER NOT NULL DEFAULT 0,
  failed              INTEGER NOT NULL DEFAULT 0,
  evidence            INTEGER NOT NULL DEFAULT 0,
  evidence_unreadable INTEGER NOT NULL DEFAULT 0,
  evidence_future     INTEGER NOT NULL DEFAULT 0,
  sync_id             TEXT NOT NULL DEFAULT '',
  created_by          TEXT NOT NULL,
  created_at          INTEGER NOT NULL,
  queued_at           INTEGER NOT NULL DEFAULT 0,
  started_at          INTEGER NOT NULL DEFAULT 0,
  finished_at         INTEGER NOT NULL DEFAULT 0,
  failure_reason      TEXT NOT NULL DEFAULT '',
  touched_at          INTEGER NOT NULL, -- of the last part that arrived, or the last run
  announced           INTEGER NOT NULL DEFAULT 0, -- changes that were announced one by one
  done_id             TEXT NOT NULL DEFAULT '', -- of the row that the run has come to, in the order of ids
  done_rows           INTEGER NOT NULL DEFAULT 0 -- rows of this id
) STRICT, WITHOUT ROWID;
CREATE INDEX import_job_tenant ON import_job (tenant_id, id);
CREATE INDEX import_job_list ON import_job (list_id);
CREATE INDEX import_job_open ON import_job (status, queued_at) WHERE status NOT IN ('completed', 'failed', 'cancelled');

-- The file (kind 0) and its lines with errors (kind 1), in parts of 1 MiB at most that end with a line.
CREATE TABLE import_chunk (
  import_id TEXT NOT NULL,
  kind      INTEGER NOT NULL,
  no        INTEGER NOT NULL,
  data      BLOB NOT NULL,
  PRIMARY KEY (import_id, kind, no)
) STRICT;
