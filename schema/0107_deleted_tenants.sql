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
  created_at INTEGER NOT NULL,
  disabled_reason TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX deleted_endpoint_tenant ON deleted_endpoint (tenant_id, id);
CREATE INDEX deleted_endpoint_creator ON deleted_endpoint (created_by) WHERE created_by <> '';

-- Who keeps an endpoint stays known while it may come back.
DROP TRIGGER webhook_endpoint_without_keepers;
CREATE TRIGGER webhook_endpoint_without_keepers AFTER DELETE ON webhook_endpoint
  WHEN NOT EXISTS (SELECT 1 FROM deleted_endpoint WHERE id = OLD.id) BEGIN
  DELETE FROM keeper WHERE record = OLD.id;
END;
CREATE TRIGGER deleted_endpoint_without_keepers AFTER DELETE ON deleted_endpoint
  WHEN NOT EXISTS (SELECT 1 FROM webhook_endpoint WHERE id = OLD.id) BEGIN
  DELETE FROM keeper WHERE record = OLD.id;
END;

-- Tenants that were deleted before: their endpoints go the same way.
INSERT INTO deleted_endpoint SELECT id, tenant_id, list_id, name, url, events, secret, created_by, created_at,
  disabled_reason FROM webhook_endpoint WHERE tenant_id IN (SELECT id FROM tenant WHERE deleted_at > 0);
DELETE FROM webhook_endpoint WHERE tenant_id IN (SELECT id FROM tenant WHERE deleted_at > 0);
