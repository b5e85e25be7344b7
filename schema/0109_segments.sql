-- Saved rules about subscribers. Who matches is decided when it is asked for, and never stored.
CREATE TABLE segment (
  id         TEXT PRIMARY KEY,
  tenant_id  TEXT NOT NULL,
  name       TEXT NOT NULL,
  rule       TEXT NOT NULL,    -- core.Rule as JSON
  revision   INTEGER NOT NULL, -- counts changes, from 1
  created_by TEXT NOT NULL,    -- actor; '': erased
  created_at INTEGER NOT NULL,
  changed_by TEXT NOT NULL,    -- actor; '': erased
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX segment_name ON segment (tenant_id, name);
CREATE INDEX segment_creator ON segment (created_by) WHERE created_by <> '';
CREATE INDEX segment_changer ON segment (changed_by) WHERE changed_by <> '';
ALTER TABLE subscriber ADD COLUMN joined_at INTEGER NOT NULL DEFAULT 0; -- start of the present subscription; 0: created_at
ALTER TABLE frozen_content ADD COLUMN rule TEXT NOT NULL DEFAULT ''; -- of the segments as approved, references inlined
