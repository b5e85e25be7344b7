-- Readers who never confirmed, or were not heard of for long, are asked once more whether they want the mails of a list.
ALTER TABLE subscription ADD COLUMN asked_at INTEGER NOT NULL DEFAULT 0; -- 0: never
ALTER TABLE subscription ADD COLUMN heard_at INTEGER NOT NULL DEFAULT 0; -- of the first answer, click or opening after that
CREATE INDEX subscription_asked ON subscription (list_id, asked_at, heard_at, changed_at, status) WHERE asked_at > 0;
CREATE INDEX subscription_waiting ON subscription (list_id, id, changed_at, asked_at) WHERE status = 'pending' AND generation = 1;
