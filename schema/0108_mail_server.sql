-- The daemon's own mail server, where the configuration leaves it to the console. 1 is in force; 2 is the one before it:
-- the emails that tell of the change go through it, and it is removed within a day.
CREATE TABLE mail_server (
  id         INTEGER PRIMARY KEY CHECK (id IN (1, 2)),
  relay      TEXT NOT NULL, -- core.Relay without its password
  secret     BLOB NOT NULL, -- the password, sealed; empty: none
  mail_from  TEXT NOT NULL,
  changed_at INTEGER NOT NULL -- of 2: when it was replaced
) STRICT;
ALTER TABLE send_job ADD COLUMN transport TEXT NOT NULL DEFAULT ''; -- 'folder': its emails, or some, went to a folder
