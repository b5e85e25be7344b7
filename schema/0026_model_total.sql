-- Bytes of all files of models, those on their way in and those that are yet to be removed included.

CREATE TABLE model_total (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  bytes INTEGER NOT NULL
) STRICT;
INSERT INTO model_total (id, bytes) SELECT 1, coalesce(sum(size), 0) FROM model_file;

CREATE TRIGGER model_file_added AFTER INSERT ON model_file WHEN NEW.size <> 0 BEGIN
  UPDATE model_total SET bytes = bytes + NEW.size;
END;
CREATE TRIGGER model_file_grown AFTER UPDATE OF size ON model_file WHEN NEW.size <> OLD.size BEGIN
  UPDATE model_total SET bytes = bytes + NEW.size - OLD.size;
END;
CREATE TRIGGER model_file_removed AFTER DELETE ON model_file WHEN OLD.size <> 0 BEGIN
  UPDATE model_total SET bytes = bytes - OLD.size;
END;
