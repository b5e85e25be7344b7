-- Who created a client or a webhook endpoint, or changed what opens it: its secret, its addresses, what a client may do.
CREATE TABLE keeper (
  record TEXT NOT NULL, -- id of the client or webhook_endpoint
  actor  TEXT NOT NULL, -- as audit names them
  PRIMARY KEY (record, actor)
) STRICT, WITHOUT ROWID;
CREATE INDEX keeper_actor ON keeper (actor, record);
INSERT INTO keeper SELECT id, created_by FROM client WHERE created_by <> '';
INSERT INTO keeper SELECT id, created_by FROM webhook_endpoint WHERE created_by <> '';
INSERT OR IGNORE INTO keeper SELECT DISTINCT object, actor FROM audit
  WHERE (action IN ('client.create', 'webhook-endpoint.create') OR action IN ('client.update', 'webhook-endpoint.update')
    AND (detail = '' OR EXISTS (SELECT 1 FROM json_each(detail) WHERE key IN ('redirect_uris',
    'post_logout_redirect_uris', 'scopes', 'grant_types', 'client_type', 'token_endpoint_auth_method', 'secret_hash',
    'url', 'secret'))))
  AND (object IN (SELECT id FROM client) OR object IN (SELECT id FROM webhook_endpoint))
  AND (actor NOT LIKE 'user:%' OR substr(actor, 6) IN (SELECT id FROM user));
CREATE TRIGGER client_without_keepers AFTER DELETE ON client BEGIN
  DELETE FROM keeper WHERE record = OLD.id;
END;
CREATE TRIGGER webhook_endpoint_without_keepers AFTER DELETE ON webhook_endpoint BEGIN
  DELETE FROM keeper WHERE record = OLD.id;
END;
DROP INDEX client_creator;
DROP INDEX webhook_endpoint_creator;
