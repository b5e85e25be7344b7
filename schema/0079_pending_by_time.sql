-- Requests to subscribe come in the order of their time and of no id: each one changed a page of the index of its own.
DROP INDEX subscription_waiting;
CREATE INDEX subscription_waiting ON subscription (list_id, changed_at, id, asked_at) WHERE status = 'pending' AND generation = 1;
