-- How many bytes of events wait for each endpoint.
ALTER TABLE webhook_endpoint ADD COLUMN waiting_bytes INTEGER NOT NULL DEFAULT 0;

UPDATE webhook_endpoint SET waiting_bytes = (SELECT coalesce(sum(octet_length(body)), 0) FROM outbox INDEXED BY outbox_due
  WHERE dead_at = 0 AND endpoint_id = webhook_endpoint.id);
