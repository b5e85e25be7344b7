-- When an event was tried in vain last; 0: never. Of an event that fails while others are taken, the receiver is not at fault.
ALTER TABLE outbox ADD COLUMN failed_at INTEGER NOT NULL DEFAULT 0;
