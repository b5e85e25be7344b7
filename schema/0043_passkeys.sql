-- WebAuthn credentials by which users sign in without a password, and the challenges that have been answered.

CREATE TABLE passkey (
  id          TEXT PRIMARY KEY,
  user_id     TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  rp_id       TEXT NOT NULL,              -- host that it was made for; good for no other
  name        TEXT NOT NULL,
  credential  BLOB NOT NULL UNIQUE,       -- the authenticator's name for it
  public_key  BLOB NOT NULL,              -- COSE
  sign_count  INTEGER NOT NULL,
  synced      INTEGER NOT NULL,           -- 1: its maker may copy it to other devices of the user
  created_at  INTEGER NOT NULL,
  used_at     INTEGER NOT NULL DEFAULT 0  -- 0: never
) STRICT, WITHOUT ROWID;

CREATE INDEX passkey_user ON passkey (user_id);

CREATE TABLE answered_challenge (
  hash       BLOB PRIMARY KEY,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX answered_challenge_expires ON answered_challenge (expires_at);
