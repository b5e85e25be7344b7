-- Agents, and the device columns for registration.

CREATE TABLE agent (
  id         TEXT PRIMARY KEY,
  owner_id   TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  name       TEXT NOT NULL,
  version    TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_owner ON agent (owner_id, id);

ALTER TABLE device ADD COLUMN agent_id TEXT NOT NULL DEFAULT '';
ALTER TABLE device ADD COLUMN registered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE device ADD COLUMN registered_at INTEGER NOT NULL DEFAULT 0;
CREATE INDEX device_agent ON device (agent_id) WHERE agent_id <> '';
