-- What a job's mails are made of besides its campaign, as it was when the job was made. Jobs of older versions have no
-- row until they start.

CREATE TABLE frozen_body (
  no   INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE, -- SHA-256 of the body, which many jobs share
  body TEXT NOT NULL
) STRICT;

CREATE TABLE frozen_content (
  campaign_id    TEXT PRIMARY KEY REFERENCES campaign (id),
  list_name      TEXT NOT NULL,
  tenant_name    TEXT NOT NULL,
  postal_address TEXT NOT NULL,
  language       TEXT NOT NULL,
  mail_from      TEXT NOT NULL, -- empty: the daemon's
  from_name      TEXT NOT NULL,
  reply_to       TEXT NOT NULL,
  template       TEXT NOT NULL,              -- name of the template; empty: none
  resolved       INTEGER NOT NULL DEFAULT 0, -- 1: the template, with its layout, is frozen below
  template_html  INTEGER NOT NULL DEFAULT 0, -- number of the body; 0: empty
  template_text  INTEGER NOT NULL DEFAULT 0,
  layout_html    INTEGER NOT NULL DEFAULT 0,
  layout_text    INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
