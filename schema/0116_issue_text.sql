-- What archives show and search of an issue besides its title: its words and its first picture. A worker adds the rows
-- of issues that were sent before.
CREATE TABLE issue_text (
  issue_no INTEGER PRIMARY KEY,
  words    TEXT NOT NULL, -- of the article, a line for each block
  excerpt  TEXT NOT NULL,
  picture  TEXT NOT NULL DEFAULT '', -- address of the first picture that is stored here
  width    INTEGER NOT NULL DEFAULT 0,
  height   INTEGER NOT NULL DEFAULT 0
) STRICT;

-- place names the tenant and the list, so that a search never walks over issues of others.
CREATE VIRTUAL TABLE issue_search USING fts5 (title, words, place, content = '', contentless_delete = 1,
  tokenize = "unicode61 remove_diacritics 2");

CREATE TRIGGER issue_text_add AFTER INSERT ON issue_text BEGIN
  INSERT OR REPLACE INTO issue_search (rowid, title, words, place)
    SELECT i.no, i.title, NEW.words, 't' || replace(l.tenant_id, '-', '') || ' l' || replace(l.id, '-', '')
    FROM issue i JOIN list l ON l.id = i.list_id WHERE i.no = NEW.issue_no;
END;
CREATE TRIGGER issue_text_update AFTER UPDATE ON issue_text BEGIN
  INSERT OR REPLACE INTO issue_search (rowid, title, words, place)
    SELECT i.no, i.title, NEW.words, 't' || replace(l.tenant_id, '-', '') || ' l' || replace(l.id, '-', '')
    FROM issue i JOIN list l ON l.id = i.list_id WHERE i.no = NEW.issue_no;
END;
CREATE TRIGGER issue_gone AFTER DELETE ON issue BEGIN
  DELETE FROM issue_text WHERE issue_no = OLD.no;
  DELETE FROM issue_search WHERE rowid = OLD.no;
END;
