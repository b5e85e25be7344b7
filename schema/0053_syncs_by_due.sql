-- A full sync that waits for its receiver holds up no other: they are taken in the order in which they go on.
-- due_at of a sync that is being delivered is when it goes on; 0: at once.
DROP INDEX sync_open;
CREATE INDEX sync_due ON sync (due_at, id) WHERE finished_at = 0 AND failed_at = 0;
