-- Who created a webhook endpoint, as the audit log names them.
ALTER TABLE webhook_endpoint ADD COLUMN created_by TEXT NOT NULL DEFAULT '';
UPDATE webhook_endpoint SET created_by = coalesce((SELECT actor FROM audit
  WHERE object = webhook_endpoint.id AND action = 'webhook-endpoint.create' ORDER BY at LIMIT 1), '');
CREATE INDEX webhook_endpoint_creator ON webhook_endpoint (created_by) WHERE created_by <> '';
