-- Who created a client, as the audit log names them, and when it was disabled.
ALTER TABLE client ADD COLUMN created_by TEXT NOT NULL DEFAULT '';
ALTER TABLE client ADD COLUMN disabled_at INTEGER NOT NULL DEFAULT 0;
UPDATE client SET created_by = coalesce((SELECT actor FROM audit
  WHERE object = client.id AND action = 'client.create' ORDER BY at LIMIT 1), '');
CREATE INDEX client_creator ON client (created_by, id) WHERE created_by <> '';

-- The families that end when their client is disabled.
CREATE INDEX family_client ON family (client_id) WHERE revoked_at = 0;
