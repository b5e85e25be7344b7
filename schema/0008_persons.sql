-- What is left of persons who were erased, and addresses that are about to be changed.

-- Addresses that were erased, as keyed hashes: what stood against mailing them goes on to hold, and no import brings them
-- back. kind is what stood there; left: nothing did, but the person has gone.
CREATE TABLE erased (
  hash       TEXT NOT NULL,
  tenant_id  TEXT NOT NULL, -- empty: everywhere
  kind       TEXT NOT NULL CHECK (kind IN ('left', 'disabled', 'bounced', 'complaint', 'suppressed')),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (hash, tenant_id, kind)
) STRICT, WITHOUT ROWID;

-- Reports of mails that are no recipient's of ours, by address; the others are found by their recipient.
CREATE INDEX provider_event_stranger ON provider_event (email_key) WHERE job_no = 0;

-- A wish to have another address, until the link in the mail to it is followed. One a user.
CREATE TABLE email_change (
  user_id    TEXT PRIMARY KEY REFERENCES user (id) ON DELETE CASCADE,
  hash       BLOB NOT NULL UNIQUE, -- of the mailed token
  old_key    TEXT NOT NULL, -- the address that the user had: another change ends this one
  email      TEXT NOT NULL,
  email_key  TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX email_change_expires ON email_change (expires_at);
