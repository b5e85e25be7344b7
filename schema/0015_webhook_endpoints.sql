-- Other receivers of a tenant's events.

CREATE TABLE webhook_endpoint (
  id              TEXT PRIMARY KEY,
  tenant_id       TEXT NOT NULL,
  list_id         TEXT NOT NULL DEFAULT '',   -- empty: every list
  name            TEXT NOT NULL DEFAULT '',
  url             TEXT NOT NULL,
  events          TEXT NOT NULL DEFAULT '[]', -- event types; none: all
  secret          BLOB NOT NULL, -- sealed
  old_secret      BLOB NOT NULL DEFAULT x'',
  old_until       INTEGER NOT NULL DEFAULT 0, -- signs beside the new one until then
  failing_since   INTEGER NOT NULL DEFAULT 0, -- first failure since the last success
  disabled_at     INTEGER NOT NULL DEFAULT 0,
  disabled_reason TEXT NOT NULL DEFAULT '',
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_endpoint_tenant ON webhook_endpoint (tenant_id, id);

-- Each attempt to deliver an event to an endpoint.
CREATE TABLE endpoint_attempt (
  id          INTEGER PRIMARY KEY,
  endpoint_id TEXT NOT NULL,
  event_id    TEXT NOT NULL,
  event_type  TEXT NOT NULL,
  at          INTEGER NOT NULL,
  outcome     TEXT NOT NULL CHECK (outcome IN ('delivered', 'retry', 'dead')),
  status      INTEGER NOT NULL DEFAULT 0, -- of the answer; 0: none came
  took_ms     INTEGER NOT NULL DEFAULT 0,
  reason      TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX endpoint_attempt_endpoint ON endpoint_attempt (endpoint_id, id);

-- An event has a row for each receiver; endpoint_id empty: the send service.
ALTER TABLE outbox ADD COLUMN endpoint_id TEXT NOT NULL DEFAULT '';
DROP INDEX outbox_due;
DROP INDEX outbox_subscription;
CREATE INDEX outbox_due ON outbox (endpoint_id, due_at, id) WHERE dead_at = 0;
CREATE INDEX outbox_subscription ON outbox (list_id, subscription_id, endpoint_id, id) WHERE dead_at = 0;
