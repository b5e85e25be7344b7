-- Files that the mails of a campaign bring along: of the copy that is sent, so that they stay as they were approved.

CREATE TABLE attachment (
  copy_id TEXT NOT NULL,    -- the campaign_copy
  place   INTEGER NOT NULL, -- from 0
  name    TEXT NOT NULL,    -- in mails
  file_no INTEGER NOT NULL REFERENCES media_file (no),
  PRIMARY KEY (copy_id, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX attachment_file ON attachment (file_no);

-- A file goes with the last picture that is made of it, and the last copy that brings it along.
DROP TRIGGER media_gone;
CREATE TRIGGER media_gone AFTER DELETE ON media BEGIN
  UPDATE media_file SET state = 2 WHERE no IN (OLD.mail_no, OLD.full_no)
    AND NOT EXISTS (SELECT 1 FROM media WHERE mail_no = media_file.no)
    AND NOT EXISTS (SELECT 1 FROM media WHERE full_no = media_file.no)
    AND NOT EXISTS (SELECT 1 FROM attachment WHERE file_no = media_file.no);
END;
CREATE TRIGGER attachment_gone AFTER DELETE ON attachment BEGIN
  UPDATE media_file SET state = 2 WHERE no = OLD.file_no
    AND NOT EXISTS (SELECT 1 FROM media WHERE mail_no = media_file.no)
    AND NOT EXISTS (SELECT 1 FROM media WHERE full_no = media_file.no)
    AND NOT EXISTS (SELECT 1 FROM attachment WHERE file_no = media_file.no);
END;
