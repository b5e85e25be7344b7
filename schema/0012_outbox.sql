-- Who feeds lists, and dead letters that live again.

-- Lists that a webhook client other than the daemon's own has fed: their subscribers are another member service's.
CREATE TABLE fed_list (
  list_id   TEXT PRIMARY KEY,
  client_id TEXT NOT NULL, -- the last one
  since     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE outbox ADD COLUMN revived_at INTEGER NOT NULL DEFAULT 0; -- when an operator brought the dead letter back
CREATE INDEX outbox_dead ON outbox (dead_at, id) WHERE dead_at > 0;
