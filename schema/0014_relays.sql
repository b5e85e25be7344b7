-- The ways out of tenants, and their pace.

ALTER TABLE tenant ADD COLUMN relays TEXT NOT NULL DEFAULT '[]';       -- JSON, in the order of use
CREATE INDEX tenant_with_relays ON tenant (id) WHERE relays != '[]' AND deleted_at = 0;
ALTER TABLE tenant ADD COLUMN relay_secrets BLOB NOT NULL DEFAULT x''; -- sealed JSON: passwords by the id of the relay
ALTER TABLE tenant ADD COLUMN send_limits TEXT NOT NULL DEFAULT '{}';  -- JSON

-- Mails of a day that were taken out of a daily quota.
CREATE TABLE quota (
  scope TEXT PRIMARY KEY, -- "tenant:" and its id, "relay:" and its id, or "relay" for the daemon's own
  day   INTEGER NOT NULL, -- days since 1970 in UTC
  used  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
