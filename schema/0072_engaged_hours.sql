-- How many have opened the mails of a job and followed a link by hours: engagements are ordered by reader, so counting
-- them by time would read all of them.
CREATE TABLE engaged_hour (
  job_no  INTEGER NOT NULL,
  hour    INTEGER NOT NULL, -- since 1970, UTC
  opened  INTEGER NOT NULL DEFAULT 0, -- for the first time, by people; times, where mails name no reader
  clicked INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (job_no, hour)
) STRICT, WITHOUT ROWID;
