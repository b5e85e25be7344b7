-- Labels that a team gives to people. A person has the same ones on all lists of the tenant.
CREATE TABLE tag (
  no         INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT NOT NULL UNIQUE,
  tenant_id  TEXT NOT NULL,
  name       TEXT NOT NULL,
  name_key   TEXT NOT NULL, -- folded
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX tag_name ON tag (tenant_id, name_key);

CREATE TABLE tagged (
  list_id TEXT NOT NULL,
  id      TEXT NOT NULL,    -- of the subscriber and the subscription
  tag_no  INTEGER NOT NULL, -- of a deleted tag until the row is swept
  at      INTEGER NOT NULL,
  PRIMARY KEY (list_id, id, tag_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX tagged_tag ON tagged (tag_no);

-- A person who is no longer known on a list has no tags there.
CREATE TRIGGER subscriber_without_tags AFTER DELETE ON subscriber
  WHEN NOT EXISTS (SELECT 1 FROM subscription WHERE list_id = OLD.list_id AND id = OLD.id) BEGIN
  DELETE FROM tagged WHERE list_id = OLD.list_id AND id = OLD.id;
END;
CREATE TRIGGER subscription_without_tags AFTER DELETE ON subscription
  WHEN NOT EXISTS (SELECT 1 FROM subscriber WHERE list_id = OLD.list_id AND id = OLD.id) BEGIN
  DELETE FROM tagged WHERE list_id = OLD.list_id AND id = OLD.id;
END;
