-- Polls of sent campaigns. A draft has its polls among its fields; a send copies them here.
CREATE TABLE poll (
  no           INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant_id    TEXT NOT NULL,
  campaign_id  TEXT NOT NULL,
  number       INTEGER NOT NULL, -- in the campaign, from 1
  question     TEXT NOT NULL,
  field        TEXT NOT NULL,    -- of the lists, takes the answer; empty: none
  show_results INTEGER NOT NULL, -- 1: people who answered see the results
  closes_at    INTEGER NOT NULL,
  closed_at    INTEGER NOT NULL DEFAULT 0,
  UNIQUE (campaign_id, number)
) STRICT;

CREATE TABLE poll_option (
  poll_no INTEGER NOT NULL,
  number  INTEGER NOT NULL, -- in the poll, from 1
  text    TEXT NOT NULL,
  answers INTEGER NOT NULL DEFAULT 0, -- rows of poll_answer, kept by triggers
  PRIMARY KEY (poll_no, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE poll_answer (
  poll_no       INTEGER NOT NULL,
  list_id       TEXT NOT NULL,
  subscriber_id TEXT NOT NULL,
  option        INTEGER NOT NULL,
  changes       INTEGER NOT NULL DEFAULT 0, -- how often the person chose another option
  at            INTEGER NOT NULL,
  PRIMARY KEY (poll_no, list_id, subscriber_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX poll_answer_person ON poll_answer (list_id, subscriber_id);

CREATE TRIGGER poll_answer_added AFTER INSERT ON poll_answer BEGIN
  UPDATE poll_option SET answers = answers + 1 WHERE poll_no = NEW.poll_no AND number = NEW.option;
END;
CREATE TRIGGER poll_answer_changed AFTER UPDATE OF option ON poll_answer WHEN NEW.option <> OLD.option BEGIN
  UPDATE poll_option SET answers = answers - 1 WHERE poll_no = OLD.poll_no AND number = OLD.option;
  UPDATE poll_option SET answers = answers + 1 WHERE poll_no = NEW.poll_no AND number = NEW.option;
END;
CREATE TRIGGER poll_answer_removed AFTER DELETE ON poll_answer BEGIN
  UPDATE poll_option SET answers = answers - 1 WHERE poll_no = OLD.poll_no AND number = OLD.option;
END;

-- A person who is no longer known on a list has no answers there.
CREATE TRIGGER subscriber_without_answers AFTER DELETE ON subscriber
  WHEN NOT EXISTS (SELECT 1 FROM subscription WHERE list_id = OLD.list_id AND id = OLD.id) BEGIN
  DELETE FROM poll_answer WHERE list_id = OLD.list_id AND subscriber_id = OLD.id;
END;
CREATE TRIGGER subscription_without_answers AFTER DELETE ON subscription
  WHEN NOT EXISTS (SELECT 1 FROM subscriber WHERE list_id = OLD.list_id AND id = OLD.id) BEGIN
  DELETE FROM poll_answer WHERE list_id = OLD.list_id AND subscriber_id = OLD.id;
END;
