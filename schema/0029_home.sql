-- Which file on which disk this database is (one row). A copy or a restored backup holds the mark of another file.

CREATE TABLE home (
  no        INTEGER PRIMARY KEY CHECK (no = 1),
  mark      TEXT NOT NULL,
  marked_at INTEGER NOT NULL
) STRICT;
