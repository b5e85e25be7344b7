-- Devices and models, as they were before agents, visibility and shares.

CREATE TABLE device (
  id             TEXT PRIMARY KEY,
  owner_id       TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  name           TEXT NOT NULL,
  representative INTEGER NOT NULL DEFAULT 0,
  created_at     INTEGER NOT NULL,
  unpaired_at    INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX device_owner ON device (owner_id, id) WHERE unpaired_at = 0;
CREATE INDEX device_user ON device (owner_id);
CREATE INDEX device_unpaired ON device (unpaired_at) WHERE unpaired_at > 0;
CREATE UNIQUE INDEX device_representative ON device (owner_id) WHERE representative = 1 AND unpaired_at = 0;

-- A file on its way in (0), kept by a model (1), or to be removed (2). Files are removed in steps, long after their
-- model: a row outlives its owner, hence no reference.
CREATE TABLE model_file (
  no         INTEGER PRIMARY KEY AUTOINCREMENT,
  owner_id   TEXT NOT NULL,
  state      INTEGER NOT NULL DEFAULT 0,
  by_daemon  INTEGER NOT NULL, -- such an upload is dead once the daemon starts anew
  size       INTEGER NOT NULL DEFAULT 0, -- bytes that are here
  chunks     INTEGER NOT NULL DEFAULT 0,
  touched_at INTEGER NOT NULL
) STRICT;
CREATE INDEX model_file_state ON model_file (state) WHERE state <> 1;

-- Files in chunks of 1 MiB; only the last one of a file is shorter.
CREATE TABLE model_chunk (
  file_no  INTEGER NOT NULL REFERENCES model_file (no),
  chunk_no INTEGER NOT NULL,
  data     BLOB NOT NULL,
  PRIMARY KEY (file_no, chunk_no)
) STRICT;

-- Rows are numbered in the order in which their uploads ended: the library is read by no, newest first.
CREATE TABLE model (
  no           INTEGER PRIMARY KEY AUTOINCREMENT,
  id           TEXT NOT NULL UNIQUE,
  owner_id     TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  file_no      INTEGER NOT NULL UNIQUE REFERENCES model_file (no),
  name         TEXT NOT NULL,
  description  TEXT NOT NULL DEFAULT '',
  size         INTEGER NOT NULL,
  sha256       TEXT NOT NULL,
  content_type TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX model_owner ON model (owner_id);

-- Bytes of an owner's files in the states 0 and 1.
CREATE TABLE model_usage (
  owner_id TEXT PRIMARY KEY REFERENCES user (id) ON DELETE CASCADE,
  bytes    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- However a model goes, by its owner's hand or with its owner, its file is let go.
CREATE TRIGGER model_gone AFTER DELETE ON model BEGIN
  UPDATE model_file SET state = 2 WHERE no = OLD.file_no;
END;
CREATE TRIGGER model_file_gone AFTER UPDATE OF state ON model_file WHEN NEW.state = 2 AND OLD.state <> 2 BEGIN
  UPDATE model_usage SET bytes = bytes - NEW.size WHERE owner_id = NEW.owner_id;
END;
