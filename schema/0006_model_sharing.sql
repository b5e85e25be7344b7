-- Model visibility, private unless its owner says otherwise, and shares.

ALTER TABLE model ADD COLUMN visibility TEXT NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'tenant', 'public'));
CREATE INDEX model_public ON model (created_at, id) WHERE visibility = 'public';

CREATE TABLE share (
  id         TEXT PRIMARY KEY,
  model_id   TEXT NOT NULL REFERENCES model (id) ON DELETE CASCADE,
  user_id    TEXT NOT NULL DEFAULT '', -- empty until a user has verified the address
  email      TEXT NOT NULL DEFAULT '', -- as typed
  email_key  TEXT NOT NULL DEFAULT '',
  permission TEXT NOT NULL DEFAULT 'read' CHECK (permission = 'read'),
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX share_model ON share (model_id, id);
CREATE INDEX share_user ON share (user_id, model_id) WHERE user_id <> '';
CREATE INDEX share_email ON share (email_key) WHERE email_key <> '';
