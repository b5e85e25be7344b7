-- How many events wait for each endpoint, and the event (a row of the outbox) that tells it of those that were dropped.
ALTER TABLE webhook_endpoint ADD COLUMN waiting INTEGER NOT NULL DEFAULT 0;
ALTER TABLE webhook_endpoint ADD COLUMN dropped_id INTEGER NOT NULL DEFAULT 0; -- until it is on its way; 0: none

UPDATE webhook_endpoint SET waiting = (SELECT count(*) FROM outbox INDEXED BY outbox_due
  WHERE dead_at = 0 AND endpoint_id = webhook_endpoint.id);
