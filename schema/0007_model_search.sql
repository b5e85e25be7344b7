-- Search of models by name. audience names who may see a model (p: everybody; o and its owner; the holders of shares), so
-- that a search never walks over models that the one who searches may not see.

CREATE VIRTUAL TABLE model_search USING fts5 (name, audience, content = '', contentless_delete = 1,
  tokenize = "unicode61 remove_diacritics 2");

INSERT INTO model_search (rowid, name, audience)
  SELECT m.no, m.name, iif(m.visibility = 'public', 'p ', '') || 'o' || replace(m.owner_id, '-', '')
    || coalesce((SELECT ' ' || group_concat(s.holder, ' ') FROM share s WHERE s.model_no = m.no), '')
  FROM model m;

CREATE TRIGGER model_search_add AFTER INSERT ON model BEGIN
  INSERT INTO model_search (rowid, name, audience)
    VALUES (NEW.no, NEW.name, iif(NEW.visibility = 'public', 'p ', '') || 'o' || replace(NEW.owner_id, '-', ''));
END;
CREATE TRIGGER model_search_update AFTER UPDATE OF name, visibility ON model BEGIN
  INSERT OR REPLACE INTO model_search (rowid, name, audience)
    SELECT m.no, m.name, iif(m.visibility = 'public', 'p ', '') || 'o' || replace(m.owner_id, '-', '')
      || coalesce((SELECT ' ' || group_concat(s.holder, ' ') FROM share s WHERE s.model_no = m.no), '')
    FROM model m WHERE m.no = NEW.no;
END;
CREATE TRIGGER model_search_delete AFTER DELETE ON model BEGIN
  DELETE FROM model_search WHERE rowid = OLD.no;
END;
CREATE TRIGGER model_search_share AFTER INSERT ON share BEGIN
  INSERT OR REPLACE INTO model_search (rowid, name, audience)
    SELECT m.no, m.name, iif(m.visibility = 'public', 'p ', '') || 'o' || replace(m.owner_id, '-', '')
      || coalesce((SELECT ' ' || group_concat(s.holder, ' ') FROM share s WHERE s.model_no = m.no), '')
    FROM model m WHERE m.no = NEW.model_no;
END;
CREATE TRIGGER model_search_unshare AFTER DELETE ON share BEGIN
  INSERT OR REPLACE INTO model_search (rowid, name, audience)
    SELECT m.no, m.name, iif(m.visibility = 'public', 'p ', '') || 'o' || replace(m.owner_id, '-', '')
      || coalesce((SELECT ' ' || group_concat(s.holder, ' ') FROM share s WHERE s.model_no = m.no), '')
    FROM model m WHERE m.no = OLD.model_no;
END;
