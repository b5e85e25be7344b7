-- Invitations that are open: one that is accepted or taken back goes.

CREATE TABLE invitation (
  id         TEXT PRIMARY KEY,
  hash       BLOB NOT NULL UNIQUE, -- of the mailed token
  tenant_id  TEXT NOT NULL DEFAULT '', -- empty: for the role operator
  role       TEXT NOT NULL CHECK (role IN ('operator', 'tenant_admin', 'publisher', 'editor', 'viewer')),
  email      TEXT NOT NULL,
  email_key  TEXT NOT NULL,
  invited_by TEXT NOT NULL, -- as the audit trail names who did
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX invitation_tenant ON invitation (tenant_id, id);
CREATE INDEX invitation_email ON invitation (email_key);
CREATE INDEX invitation_expires ON invitation (expires_at);
