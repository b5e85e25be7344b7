-- Pictures of tenants. Each file is there once for a tenant, whatever the number of pictures that are made of it.

CREATE TABLE media_file (
  no         INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant_id  TEXT NOT NULL,
  sha256     TEXT NOT NULL, -- hex
  type       TEXT NOT NULL,
  width      INTEGER NOT NULL,
  height     INTEGER NOT NULL,
  bytes      INTEGER NOT NULL,
  state      INTEGER NOT NULL DEFAULT 0, -- on its way in (0), whole (1), to be removed (2)
  touched_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX media_file_content ON media_file (sha256, tenant_id) WHERE state = 1;
CREATE INDEX media_file_tenant ON media_file (tenant_id, state, bytes);
CREATE INDEX media_file_state ON media_file (state) WHERE state <> 1;

-- Files in chunks of 1 MiB; only the last one of a file is shorter.
CREATE TABLE media_chunk (
  file_no  INTEGER NOT NULL REFERENCES media_file (no),
  chunk_no INTEGER NOT NULL,
  data     BLOB NOT NULL,
  PRIMARY KEY (file_no, chunk_no)
) STRICT;

CREATE TABLE media (
  id         TEXT PRIMARY KEY,
  tenant_id  TEXT NOT NULL,
  name       TEXT NOT NULL,
  mail_no    INTEGER NOT NULL REFERENCES media_file (no), -- as mails show it
  full_no    INTEGER NOT NULL REFERENCES media_file (no), -- as large as it is kept
  alt        TEXT NOT NULL DEFAULT '',
  decorative INTEGER NOT NULL DEFAULT 0,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX media_tenant ON media (tenant_id, id);
CREATE INDEX media_mail ON media (mail_no);
CREATE INDEX media_full ON media (full_no);

-- A file goes with the last picture that is made of it.
CREATE TRIGGER media_gone AFTER DELETE ON media BEGIN
  UPDATE media_file SET state = 2 WHERE no IN (OLD.mail_no, OLD.full_no)
    AND NOT EXISTS (SELECT 1 FROM media WHERE mail_no = media_file.no)
    AND NOT EXISTS (SELECT 1 FROM media WHERE full_no = media_file.no);
END;
