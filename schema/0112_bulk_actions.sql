-- Actions on many subscribers of a list, which a worker performs in steps.
CREATE TABLE bulk_action (
  id          TEXT PRIMARY KEY,
  tenant_id   TEXT NOT NULL,
  list_id     TEXT NOT NULL,
  kind        TEXT NOT NULL, -- unsubscribe, remove
  rule        TEXT NOT NULL DEFAULT '', -- core.Rule as JSON, references inlined; '': chosen people
  state       TEXT NOT NULL CHECK (state IN ('running', 'paused', 'completed', 'cancelled', 'undoing', 'undone')),
  reason      TEXT NOT NULL DEFAULT '', -- why it is paused
  done_id     TEXT NOT NULL DEFAULT '', -- the last subscriber id that was dealt with
  done        INTEGER NOT NULL DEFAULT 0,
  expected    INTEGER NOT NULL,
  changed     INTEGER NOT NULL DEFAULT 0,
  restored    INTEGER NOT NULL DEFAULT 0,
  announced   INTEGER NOT NULL DEFAULT 0, -- changes of this run, or of its undo
  created_by  TEXT NOT NULL,
  undo_by     TEXT NOT NULL DEFAULT '',
  created_at  INTEGER NOT NULL, -- the moment of the rule
  finished_at INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX bulk_action_list ON bulk_action (list_id, id);
CREATE INDEX bulk_action_open ON bulk_action (tenant_id, id) WHERE state IN ('running', 'undoing');
CREATE INDEX bulk_action_finished ON bulk_action (finished_at) WHERE finished_at > 0;

-- People of these actions: chosen and still to come, or changed and kept for an undo.
CREATE TABLE bulk_person (
  action_id     TEXT NOT NULL,
  subscriber_id TEXT NOT NULL,
  at            INTEGER NOT NULL, -- of the change; 0: still to come
  was           TEXT NOT NULL DEFAULT '{}', -- core.BulkBefore as JSON
  PRIMARY KEY (action_id, subscriber_id)
) STRICT, WITHOUT ROWID;
