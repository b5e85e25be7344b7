-- How many records of a list are in which state, at the end of each day on which any changed, and now in the row of the
-- latest. Filled by one scan here; kept by each transaction that changes records.

CREATE TABLE list_count (
  list_id      TEXT NOT NULL,
  day          INTEGER NOT NULL, -- days since 1970, UTC
  active       INTEGER NOT NULL DEFAULT 0,
  pending      INTEGER NOT NULL DEFAULT 0,
  unsubscribed INTEGER NOT NULL DEFAULT 0,
  bounced      INTEGER NOT NULL DEFAULT 0,
  complaint    INTEGER NOT NULL DEFAULT 0,
  suppressed   INTEGER NOT NULL DEFAULT 0,
  mailable     INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (list_id, day)
) STRICT, WITHOUT ROWID;

INSERT INTO list_count (list_id, day, active, pending, unsubscribed, bounced, complaint, suppressed, mailable)
SELECT l.id, unixepoch() / 86400, coalesce(m.active, 0), coalesce(m.pending, 0), coalesce(m.unsubscribed, 0),
    coalesce(s.bounced, 0), coalesce(s.complaint, 0), coalesce(s.suppressed, 0), coalesce(s.mailable, 0)
  FROM list AS l
  LEFT JOIN (SELECT list_id, count(*) FILTER (WHERE status = 'active') AS active, count(*) FILTER (WHERE status = 'pending') AS pending,
    count(*) FILTER (WHERE status = 'unsubscribed') AS unsubscribed FROM subscription GROUP BY list_id) AS m ON m.list_id = l.id
  LEFT JOIN (SELECT list_id, count(*) FILTER (WHERE block = 'bounced') AS bounced, count(*) FILTER (WHERE block = 'complaint') AS complaint,
    count(*) FILTER (WHERE block = 'suppressed') AS suppressed, count(*) FILTER (WHERE block = '' AND word = 'active') AS mailable
    FROM subscriber GROUP BY list_id) AS s ON s.list_id = l.id
  WHERE l.deleted_at = 0;
