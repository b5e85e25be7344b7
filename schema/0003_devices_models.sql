-- Devices and models, as they were before agents, visibility and shares.

CREATE TABLE device (
  id             TEXT PRIMARY KEY,
  owner_id       TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  name           TEXT NOT NULL,
  representative INTEGER NOT NULL DEFAULT 0,
  created_at     INTEGER NOT NULL,
  unpaired_at    INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX device_owner ON device (owner_id, id);
CREATE UNIQUE INDEX device_representative ON device (owner_id) WHERE representative = 1 AND unpaired_at = 0;

CREATE TABLE model (
  no           INTEGER PRIMARY KEY,
  id           TEXT NOT NULL UNIQUE,
  owner_id     TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  name         TEXT NOT NULL,
  description  TEXT NOT NULL DEFAULT '',
  size         INTEGER NOT NULL,
  sha256       TEXT NOT NULL,
  content_type TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX model_owner ON model (owner_id, created_at, id);
CREATE INDEX model_created ON model (created_at, id);

-- Files in chunks of 1 MiB.
CREATE TABLE model_chunk (
  model_no INTEGER NOT NULL REFERENCES model (no) ON DELETE CASCADE,
  chunk_no INTEGER NOT NULL,
  data     BLOB NOT NULL,
  PRIMARY KEY (model_no, chunk_no)
) STRICT;
