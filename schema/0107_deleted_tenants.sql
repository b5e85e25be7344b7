-- What a deleted tenant gives up at once, so that its domains are free and nothing is delivered, and gets back when it is
-- restored.
CREATE TABLE deleted_domain (
  id          TEXT PRIMARY KEY,
  tenant_id   TEXT NOT NULL,
  domain      TEXT NOT NULL,
  token       TEXT NOT NULL,
  verified_by TEXT NOT NULL,
  verified_at INTEGER NOT NULL, -- 0: proposed
  created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX deleted_domain_tenant ON deleted_domain (tenant_id, id);

CREATE TABLE deleted_endpoint (
  id         TEXT PRIMARY KEY,
  tenant_id  TEXT NOT NULL,
  list_id    TEXT NOT NULL,
  name       TEXT NOT NULL,
  url        TEXT NOT NULL,
  events     TEXT NOT NULL,
  secret     BLOB NOT NULL, -- sealed
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX deleted_endpoint_tenant ON deleted_endpoint (tenant_id, id);
CREATE INDEX deleted_endpoint_creator ON deleted_endpoint (created_by) WHERE created_by <> '';
