-- Where links of mails that are out should lead, as people say who may not mend them.

CREATE TABLE link_proposal (
  campaign_no INTEGER NOT NULL,
  link_no     INTEGER NOT NULL,
  target      TEXT NOT NULL,
  made_by     TEXT NOT NULL,
  made_at     INTEGER NOT NULL,
  PRIMARY KEY (campaign_no, link_no)
) STRICT, WITHOUT ROWID;
