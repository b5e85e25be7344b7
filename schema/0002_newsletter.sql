-- Newsletter, member side: lists, subscriptions, consents, disabled addresses, the outbox, full syncs.

CREATE TABLE list (
  id                   TEXT PRIMARY KEY,
  tenant_id            TEXT NOT NULL,
  name                 TEXT NOT NULL,
  status               TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'inactive')),
  confirm_token        TEXT NOT NULL DEFAULT '' CHECK (confirm_token IN ('', 'live', 'receipt', 'trusted')),
  require_mailed_proof INTEGER NOT NULL DEFAULT 0,
  sync_removes_absent  INTEGER NOT NULL DEFAULT 1,
  created_at           INTEGER NOT NULL,
  updated_at           INTEGER NOT NULL,
  deleted_at           INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX list_tenant ON list (tenant_id, id);

-- The id is derived from list and folded address: the primary key keeps an address single in a list, and finds it in every
-- list without an index on the address.
CREATE TABLE subscription (
  list_id     TEXT NOT NULL,
  id          TEXT NOT NULL,
  email       TEXT NOT NULL,
  email_key   TEXT NOT NULL,
  status      TEXT NOT NULL CHECK (status IN ('pending', 'active', 'unsubscribed')),
  preferences TEXT NOT NULL DEFAULT '{}',
  generation  INTEGER NOT NULL DEFAULT 1, -- counts up with each new subscription after an unsubscribe
  means       TEXT NOT NULL DEFAULT '',   -- how the present state was proved: response, mailed, import, admin
  created_at  INTEGER NOT NULL,
  changed_at  INTEGER NOT NULL,           -- of the status
  event_at    INTEGER NOT NULL DEFAULT 0, -- occurred_at of the last event
  PRIMARY KEY (list_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX subscription_pending ON subscription (changed_at) WHERE status = 'pending';

-- Requests to subscribe, until they expire. The tokens that redeem a row, answered or mailed, are MACs of its id: none
-- is stored. Ids are in the order of time, so the expired stand together.
CREATE TABLE confirm_token (
  id              TEXT PRIMARY KEY,
  list_id         TEXT NOT NULL,
  subscription_id TEXT NOT NULL,
  generation      INTEGER NOT NULL, -- 0: made for an address that cannot subscribe
  email           TEXT NOT NULL, -- as the request spelled it, and its preferences: for the answer
  preferences     TEXT NOT NULL DEFAULT '{}',
  source          TEXT NOT NULL DEFAULT '', -- of the request, for the ledger once it is confirmed
  remote          TEXT NOT NULL DEFAULT '',
  user_agent      TEXT NOT NULL DEFAULT '',
  created_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Append-only: what was agreed to, when, from where and how it was proved.
CREATE TABLE consent (
  list_id         TEXT NOT NULL,
  subscription_id TEXT NOT NULL,
  at              INTEGER NOT NULL,
  what            TEXT NOT NULL, -- requested, confirmed, unsubscribed, resumed, disabled, imported
  means           TEXT NOT NULL DEFAULT '',
  source          TEXT NOT NULL DEFAULT '',
  remote          TEXT NOT NULL DEFAULT '',
  user_agent      TEXT NOT NULL DEFAULT '',
  text_version    TEXT NOT NULL DEFAULT '',
  generation      INTEGER NOT NULL,
  PRIMARY KEY (list_id, subscription_id, at, what)
) STRICT, WITHOUT ROWID;

CREATE TABLE disabled (
  email_key   TEXT NOT NULL,
  tenant_id   TEXT NOT NULL DEFAULT '', -- empty: everywhere
  reason      TEXT NOT NULL,
  disabled_by TEXT NOT NULL,
  occurred_at INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (email_key, tenant_id)
) STRICT, WITHOUT ROWID;

-- Events to the send service, in order per subscription. The row goes when it is delivered; dead letters stay.
CREATE TABLE outbox (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  event_id        TEXT NOT NULL,
  event_type      TEXT NOT NULL,
  tenant_id       TEXT NOT NULL,
  list_id         TEXT NOT NULL,
  subscription_id TEXT NOT NULL,
  body            TEXT NOT NULL,
  occurred_at     INTEGER NOT NULL,
  due_at          INTEGER NOT NULL,
  tries           INTEGER NOT NULL DEFAULT 0,
  dead_at         INTEGER NOT NULL DEFAULT 0,
  last_error      TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX outbox_due ON outbox (due_at, id) WHERE dead_at = 0;
CREATE INDEX outbox_subscription ON outbox (list_id, subscription_id, id) WHERE dead_at = 0;

-- Senders of signed webhooks. Two secrets while one replaces the other.
CREATE TABLE webhook_client (
  id          TEXT PRIMARY KEY,
  tenant_id   TEXT NOT NULL DEFAULT '', -- empty: every tenant
  name        TEXT NOT NULL DEFAULT '',
  secret      BLOB NOT NULL, -- sealed
  old_secret  BLOB NOT NULL DEFAULT x'',
  disabled_at INTEGER NOT NULL DEFAULT 0,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A full sync going out; its batches are ranges of subscription ids, fixed at the start.
CREATE TABLE sync (
  id          TEXT PRIMARY KEY,
  tenant_id   TEXT NOT NULL,
  list_id     TEXT NOT NULL,
  batch_total INTEGER NOT NULL DEFAULT 0, -- 0: not planned yet
  due_at      INTEGER NOT NULL, -- not planned before
  started_at  INTEGER NOT NULL, -- of the plan: occurred_at of every batch
  finished_at INTEGER NOT NULL DEFAULT 0,
  failed_at   INTEGER NOT NULL DEFAULT 0,
  reason      TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
CREATE INDEX sync_list ON sync (list_id, started_at);
CREATE INDEX sync_open ON sync (started_at) WHERE finished_at = 0 AND failed_at = 0;

CREATE TABLE sync_batch (
  sync_id  TEXT NOT NULL REFERENCES sync (id) ON DELETE CASCADE,
  batch_no INTEGER NOT NULL,
  from_id  TEXT NOT NULL, -- exclusive
  to_id    TEXT NOT NULL, -- inclusive
  due_at   INTEGER NOT NULL,
  tries    INTEGER NOT NULL DEFAULT 0,
  done_at  INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (sync_id, batch_no)
) STRICT, WITHOUT ROWID;
