-- Roles below that of a tenant's administrator.

CREATE TABLE role_new (
  user_id    TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  role       TEXT NOT NULL CHECK (role IN ('operator', 'tenant_admin', 'publisher', 'editor', 'viewer')),
  tenant_id  TEXT NOT NULL DEFAULT '', -- of all but operator
  created_at INTEGER NOT NULL,
  pending    INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (user_id, role, tenant_id)
) STRICT, WITHOUT ROWID;

INSERT INTO role_new (user_id, role, tenant_id, created_at, pending)
  SELECT user_id, role, tenant_id, created_at, pending FROM role;
DROP TABLE role;
ALTER TABLE role_new RENAME TO role;
