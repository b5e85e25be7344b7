-- What a user proves at the sign-in besides the password: an authenticator app (RFC 6238), and codes that replace it once.

CREATE TABLE totp (
  user_id      TEXT PRIMARY KEY REFERENCES user (id) ON DELETE CASCADE,
  secret       BLOB NOT NULL,              -- sealed
  created_at   INTEGER NOT NULL,
  confirmed_at INTEGER NOT NULL DEFAULT 0, -- 0: shown, and not confirmed by a code yet
  last_step    INTEGER NOT NULL DEFAULT 0  -- of the last code taken: each is good once
) STRICT, WITHOUT ROWID;

CREATE TABLE recovery_code (
  user_id TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  hash    BLOB NOT NULL,
  PRIMARY KEY (user_id, hash)
) STRICT, WITHOUT ROWID;
