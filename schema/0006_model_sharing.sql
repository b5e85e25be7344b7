-- Model visibility, private unless its owner says otherwise, and shares.

ALTER TABLE model ADD COLUMN visibility TEXT NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'tenant', 'public'));
CREATE INDEX model_public ON model (visibility) WHERE visibility = 'public';

CREATE TABLE share (
  id         TEXT PRIMARY KEY,
  model_no   INTEGER NOT NULL REFERENCES model (no) ON DELETE CASCADE,
  user_id    TEXT NOT NULL DEFAULT '', -- of a share by user
  email      TEXT NOT NULL DEFAULT '', -- of a share by address, as typed
  email_key  TEXT NOT NULL DEFAULT '',
  holder     TEXT NOT NULL,            -- u and the user's id, or e and a MAC of the address
  permission TEXT NOT NULL DEFAULT 'read' CHECK (permission = 'read'),
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX share_model ON share (model_no, id);
CREATE UNIQUE INDEX share_holder ON share (holder, model_no);
CREATE INDEX share_user ON share (user_id) WHERE user_id <> '';
CREATE INDEX share_email ON share (email_key) WHERE email_key <> '';

-- A user who goes takes along what was shared with them.
CREATE TRIGGER user_shares_gone AFTER DELETE ON user BEGIN
  DELETE FROM share WHERE user_id = OLD.id AND user_id <> '';
  DELETE FROM share WHERE email_key = OLD.email_key AND email_key <> '';
END;
