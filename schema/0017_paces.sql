-- What went out in gliding periods, so that a restart does not give a period again.
CREATE TABLE pace (
  scope TEXT PRIMARY KEY, -- as in quota
  width INTEGER NOT NULL, -- of a part of the period, in milliseconds
  parts TEXT NOT NULL     -- JSON: messages by the number of their part, counted from 1970
) STRICT, WITHOUT ROWID;
