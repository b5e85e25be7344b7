-- What further files say of people whom one file calls unsubscribed or suppressed. It stands when that import is undone.
CREATE TABLE import_word (
  email_key TEXT NOT NULL,
  tenant_id TEXT NOT NULL,
  list_id   TEXT NOT NULL, -- empty: of the suppression list
  import_id TEXT NOT NULL, -- empty: of a command, or of no file
  kind      TEXT NOT NULL CHECK (kind IN ('unsubscribed', 'resumed', 'bounced', 'complaint', 'suppressed')),
  reason    TEXT NOT NULL DEFAULT '', -- as in suppression
  at        INTEGER NOT NULL, -- subscription.changed_at or suppression.created_at, while that is the same row; resumed: event_at
  said_at   INTEGER NOT NULL,
  PRIMARY KEY (email_key, tenant_id, list_id, import_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX import_word_import ON import_word (import_id, email_key) WHERE import_id <> '';
CREATE INDEX import_word_said ON import_word (said_at);
ALTER TABLE import_job ADD COLUMN said INTEGER NOT NULL DEFAULT 0; -- such words
