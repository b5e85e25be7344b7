-- Send service: subscribers, jobs and their recipients, what was already seen, provider events.

-- Two facts: the member's word and the block; only the active and unblocked are mailed. The id is that of the subscription,
-- derived from list and folded address whatever a sender gave: full syncs come in its order, and so do jobs.
CREATE TABLE subscriber (
  list_id      TEXT NOT NULL,
  email_key    TEXT NOT NULL,
  id           TEXT NOT NULL,
  email        TEXT NOT NULL,
  word         TEXT NOT NULL CHECK (word IN ('active', 'unsubscribed')),
  word_at      INTEGER NOT NULL,
  block        TEXT NOT NULL DEFAULT '' CHECK (block IN ('', 'bounced', 'complaint', 'suppressed')),
  block_at     INTEGER NOT NULL DEFAULT 0,
  preferences  TEXT NOT NULL DEFAULT '{}',
  soft_bounces INTEGER NOT NULL DEFAULT 0, -- in a row
  soft_at      INTEGER NOT NULL DEFAULT 0, -- of the first of them
  sync_no      INTEGER NOT NULL DEFAULT 0, -- of the last full sync that named it
  created_at   INTEGER NOT NULL,
  changed_at   INTEGER NOT NULL,
  PRIMARY KEY (list_id, id)
) STRICT, WITHOUT ROWID;

-- Addresses that a tenant's mail must not go to, whatever the list.
CREATE TABLE suppression (
  tenant_id  TEXT NOT NULL,
  email_key  TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('bounced', 'complaint', 'suppressed')),
  reason     TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, email_key)
) STRICT, WITHOUT ROWID;

-- Accepted once: rows are in order of time, so that the oldest go first without an index on it.
CREATE TABLE seen_nonce (
  id         INTEGER PRIMARY KEY,
  client_id  TEXT NOT NULL,
  nonce      TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  UNIQUE (client_id, nonce)
) STRICT;
CREATE TABLE seen_event (
  id         INTEGER PRIMARY KEY,
  tenant_id  TEXT NOT NULL,
  event_id   TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  UNIQUE (tenant_id, event_id)
) STRICT;
CREATE TABLE seen_batch (
  id         INTEGER PRIMARY KEY,
  tenant_id  TEXT NOT NULL,
  sync_id    TEXT NOT NULL,
  batch_no   INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  UNIQUE (tenant_id, sync_id, batch_no)
) STRICT;

-- A full sync coming in. When all batches are here, those that it did not name are removed in steps.
CREATE TABLE received_sync (
  no          INTEGER PRIMARY KEY,
  tenant_id   TEXT NOT NULL,
  sync_id     TEXT NOT NULL,
  list_id     TEXT NOT NULL,
  client_id   TEXT NOT NULL,
  batch_total INTEGER NOT NULL,
  batches     INTEGER NOT NULL DEFAULT 0,
  occurred_at INTEGER NOT NULL,
  removing    INTEGER NOT NULL DEFAULT 0, -- 1: the work item is open
  removed_to  TEXT NOT NULL DEFAULT '',   -- keyset position of the removal
  finished_at INTEGER NOT NULL DEFAULT 0,
  UNIQUE (tenant_id, sync_id)
) STRICT;
CREATE INDEX received_sync_open ON received_sync (no) WHERE removing = 1;
CREATE INDEX received_sync_list ON received_sync (list_id, no);

CREATE TABLE template (
  tenant_id  TEXT NOT NULL,
  name       TEXT NOT NULL,
  id         TEXT NOT NULL UNIQUE,
  layout     TEXT NOT NULL DEFAULT '', -- name of another template with {{content}}
  body_html  TEXT NOT NULL DEFAULT '',
  body_text  TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE campaign (
  id              TEXT PRIMARY KEY,
  tenant_id       TEXT NOT NULL,
  name            TEXT NOT NULL DEFAULT '',
  subject         TEXT NOT NULL,
  body_html       TEXT NOT NULL DEFAULT '',
  body_text       TEXT NOT NULL DEFAULT '',
  template        TEXT NOT NULL DEFAULT '', -- JSON object as given; empty: none
  unsubscribe_url TEXT NOT NULL DEFAULT '',
  track_open      INTEGER NOT NULL DEFAULT 0,
  track_click     INTEGER NOT NULL DEFAULT 0,
  created_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE send_job (
  no             INTEGER PRIMARY KEY AUTOINCREMENT,
  id             TEXT NOT NULL UNIQUE,
  tenant_id      TEXT NOT NULL,
  list_id        TEXT NOT NULL,
  campaign_id    TEXT NOT NULL REFERENCES campaign (id),
  status         TEXT NOT NULL CHECK (status IN ('pending', 'running', 'completed', 'failed', 'cancelled')),
  scheduled_at   INTEGER NOT NULL DEFAULT 0,
  window_start   INTEGER NOT NULL DEFAULT 0,
  window_end     INTEGER NOT NULL DEFAULT 0,
  due_at         INTEGER NOT NULL, -- the later of the two starts
  retry_of       TEXT NOT NULL DEFAULT '', -- id of the job whose unsent recipients this one takes
  created_by     TEXT NOT NULL DEFAULT '',
  created_at     INTEGER NOT NULL,
  started_at     INTEGER NOT NULL DEFAULT 0,
  finished_at    INTEGER NOT NULL DEFAULT 0,
  failure_reason TEXT NOT NULL DEFAULT '',
  paused_at      INTEGER NOT NULL DEFAULT 0,
  pause_reason   TEXT NOT NULL DEFAULT '',
  expanded_to    TEXT NOT NULL DEFAULT '', -- keyset position of the expansion
  expanded       INTEGER NOT NULL DEFAULT 0, -- 1: every recipient has its row
  recipients     INTEGER NOT NULL DEFAULT 0,
  sent           INTEGER NOT NULL DEFAULT 0,
  failed         INTEGER NOT NULL DEFAULT 0,
  skipped        INTEGER NOT NULL DEFAULT 0,
  ambiguous      INTEGER NOT NULL DEFAULT 0,
  delivered      INTEGER NOT NULL DEFAULT 0,
  bounced        INTEGER NOT NULL DEFAULT 0,
  complained     INTEGER NOT NULL DEFAULT 0,
  opened         INTEGER NOT NULL DEFAULT 0,
  clicked        INTEGER NOT NULL DEFAULT 0,
  unsubscribed   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX send_job_tenant ON send_job (tenant_id, no);
CREATE INDEX send_job_list ON send_job (list_id, no);
CREATE INDEX send_job_due ON send_job (due_at) WHERE status = 'pending';
CREATE INDEX send_job_running ON send_job (no) WHERE status = 'running';

-- One row a recipient; rows of one job stand together in the order of sending.
CREATE TABLE recipient (
  job_no      INTEGER NOT NULL,
  seq         INTEGER NOT NULL,
  subscriber_id TEXT NOT NULL,
  email_key   TEXT NOT NULL,
  state       INTEGER NOT NULL DEFAULT 0, -- 0 queued, 1 deferred, 2 sent, 3 failed, 4 skipped
  tries       INTEGER NOT NULL DEFAULT 0,
  due_at      INTEGER NOT NULL DEFAULT 0, -- of a deferred one
  finished_at INTEGER NOT NULL DEFAULT 0,
  ambiguous   INTEGER NOT NULL DEFAULT 0,
  reason      TEXT NOT NULL DEFAULT '',
  marks       INTEGER NOT NULL DEFAULT 0, -- bits: 1 delivered, 2 bounced, 4 complained, 8 opened, 16 clicked
  PRIMARY KEY (job_no, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX recipient_deferred ON recipient (job_no, due_at) WHERE state = 1;

-- Tries that did not end in "sent at once": what the relay said.
CREATE TABLE attempt (
  job_no  INTEGER NOT NULL,
  seq     INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  reply   TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (job_no, seq, at)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
  tenant_id  TEXT NOT NULL,
  key        TEXT NOT NULL,
  body_hash  BLOB NOT NULL,
  job_id     TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_expires ON idempotency (expires_at);

-- Mail providers that report what became of mails. Those of the configuration file have no row.
CREATE TABLE provider (
  name        TEXT PRIMARY KEY,
  kind        TEXT NOT NULL,
  tenant_id   TEXT NOT NULL DEFAULT '', -- empty: every tenant
  secret      BLOB NOT NULL DEFAULT x'', -- sealed, as the operator wrote it
  old_secret  BLOB NOT NULL DEFAULT x'',
  topics      TEXT NOT NULL DEFAULT '[]', -- of kind ses: the topics that are listened to
  disabled_at INTEGER NOT NULL DEFAULT 0,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE provider_event (
  id          INTEGER PRIMARY KEY,
  provider    TEXT NOT NULL,
  event_key   BLOB NOT NULL, -- what makes two events the same
  tenant_id   TEXT NOT NULL, -- empty: nobody's
  message_id  TEXT NOT NULL,
  event_type  TEXT NOT NULL,
  bounce_type TEXT NOT NULL DEFAULT '',
  email_key   TEXT NOT NULL,
  occurred_at INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  job_no      INTEGER NOT NULL DEFAULT 0, -- 0: no recipient of ours
  seq         INTEGER NOT NULL DEFAULT 0,
  UNIQUE (provider, event_key)
) STRICT;
CREATE INDEX provider_event_recipient ON provider_event (job_no, seq) WHERE job_no > 0;

-- Addresses that complained, on their way to the member service's disable operation. The row goes when it has answered.
CREATE TABLE disable_request (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant_id   TEXT NOT NULL,
  email       TEXT NOT NULL,
  reason      TEXT NOT NULL,
  occurred_at INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  due_at      INTEGER NOT NULL,
  tries       INTEGER NOT NULL DEFAULT 0,
  last_error  TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX disable_request_due ON disable_request (due_at, id);
