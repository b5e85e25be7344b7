-- What the migrations make of an empty database. Written by make golden.

CREATE TABLE acme_cache (
  name       TEXT PRIMARY KEY,
  data       BLOB NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE agent (
  id         TEXT PRIMARY KEY,
  owner_id   TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  name       TEXT NOT NULL,
  version    TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX agent_owner ON agent (owner_id, id);

CREATE TABLE answered_challenge (
  hash       BLOB PRIMARY KEY,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX answered_challenge_expires ON answered_challenge (expires_at);

CREATE TABLE attachment (
  copy_id TEXT NOT NULL,    -- the campaign_copy
  place   INTEGER NOT NULL, -- from 0
  name    TEXT NOT NULL,    -- in mails
  file_no INTEGER NOT NULL REFERENCES media_file (no),
  PRIMARY KEY (copy_id, place)
) STRICT, WITHOUT ROWID;

CREATE INDEX attachment_file ON attachment (file_no);

CREATE TABLE attempt (
  job_no  INTEGER NOT NULL,
  seq     INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  reply   TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (job_no, seq, at)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
  id        INTEGER PRIMARY KEY,
  at        INTEGER NOT NULL,
  actor     TEXT NOT NULL,
  action    TEXT NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT '',
  object    TEXT NOT NULL DEFAULT '',
  detail    TEXT NOT NULL DEFAULT ''
, origin TEXT NOT NULL DEFAULT '', client_id TEXT NOT NULL DEFAULT '') STRICT;

CREATE INDEX audit_actor ON audit (actor, at);

CREATE INDEX audit_at ON audit (at);

CREATE INDEX audit_object ON audit (object, at);

CREATE INDEX audit_origin ON audit (at) WHERE origin <> '';

CREATE INDEX audit_tenant ON audit (tenant_id, at);

CREATE TABLE browser (
  id         TEXT PRIMARY KEY,
  user_id    TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  epoch      INTEGER NOT NULL, -- of the user at the sign-in
  amr        TEXT NOT NULL DEFAULT '',
  remote     TEXT NOT NULL DEFAULT '',
  user_agent TEXT NOT NULL DEFAULT '',
  auth_at    INTEGER NOT NULL,
  used_at    INTEGER NOT NULL,
  expires_at INTEGER NOT NULL -- however much it is used
) STRICT, WITHOUT ROWID;

CREATE INDEX browser_expires ON browser (expires_at);

CREATE INDEX browser_user ON browser (user_id);

CREATE TABLE bulk_action (
  id          TEXT PRIMARY KEY,
  tenant_id   TEXT NOT NULL,
  list_id     TEXT NOT NULL,
  kind        TEXT NOT NULL, -- unsubscribe, remove
  rule        TEXT NOT NULL DEFAULT '', -- core.Rule as JSON, references inlined; '': chosen people
  state       TEXT NOT NULL CHECK (state IN ('running', 'paused', 'completed', 'cancelled', 'undoing', 'undone')),
  reason      TEXT NOT NULL DEFAULT '', -- why it is paused
  done_id     TEXT NOT NULL DEFAULT '', -- the last subscriber id that was dealt with
  done        INTEGER NOT NULL DEFAULT 0,
  expected    INTEGER NOT NULL,
  changed     INTEGER NOT NULL DEFAULT 0,
  restored    INTEGER NOT NULL DEFAULT 0,
  announced   INTEGER NOT NULL DEFAULT 0, -- changes of this run, or of its undo
  created_by  TEXT NOT NULL,
  undo_by     TEXT NOT NULL DEFAULT '',
  created_at  INTEGER NOT NULL, -- the moment of the rule
  finished_at INTEGER NOT NULL DEFAULT 0
, tag_id TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;

CREATE INDEX bulk_action_finished ON bulk_action (finished_at) WHERE finished_at > 0;

CREATE INDEX bulk_action_list ON bulk_action (list_id, id);

CREATE INDEX bulk_action_open ON bulk_action (tenant_id, id) WHERE state IN ('running', 'undoing');

CREATE TABLE bulk_person (
  action_id     TEXT NOT NULL,
  subscriber_id TEXT NOT NULL,
  at            INTEGER NOT NULL, -- of the change; 0: still to come
  was           TEXT NOT NULL DEFAULT '{}', -- core.BulkBefore as JSON
  PRIMARY KEY (action_id, subscriber_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE campaign (
  no               INTEGER PRIMARY KEY AUTOINCREMENT,
  id               TEXT NOT NULL UNIQUE,
  tenant_id        TEXT NOT NULL,
  state            TEXT NOT NULL CHECK (state IN ('draft', 'in_review', 'approved', 'scheduled', 'sending', 'sent', 'archived')),
  name             TEXT NOT NULL DEFAULT '', -- name and subject of the version, for lists
  subject          TEXT NOT NULL DEFAULT '',
  revision         INTEGER NOT NULL DEFAULT 1, -- grows with every change: the ETag
  version          INTEGER NOT NULL DEFAULT 1, -- what is written on
  approved_version INTEGER NOT NULL DEFAULT 0,
  approved_by      TEXT NOT NULL DEFAULT '',
  approved_at      INTEGER NOT NULL DEFAULT 0,
  last_approved    INTEGER NOT NULL DEFAULT 0, -- the version approved last, also when it was written on since
  copy_id          TEXT NOT NULL DEFAULT '', -- of the approved version
  job_no           INTEGER NOT NULL DEFAULT 0, -- the last job that sends or sent it
  review_by        TEXT NOT NULL DEFAULT '', -- who asked for the review
  review_wanted_at INTEGER NOT NULL DEFAULT 0,
  review_note      TEXT NOT NULL DEFAULT '',
  created_by       TEXT NOT NULL DEFAULT '',
  created_at       INTEGER NOT NULL,
  updated_by       TEXT NOT NULL DEFAULT '',
  updated_at       INTEGER NOT NULL
, writers TEXT NOT NULL DEFAULT '[]', archive TEXT NOT NULL DEFAULT '' CHECK (archive IN ('', 'shown', 'hidden')), review_asked INTEGER NOT NULL DEFAULT 0, review_missed INTEGER NOT NULL DEFAULT 0, audit_seen INTEGER NOT NULL DEFAULT 0, approved_by_send INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE INDEX campaign_job ON campaign (job_no) WHERE job_no <> 0;

CREATE INDEX campaign_review ON campaign (review_wanted_at)
  WHERE state = 'in_review' AND review_missed = 0 AND review_wanted_at > 0;

CREATE INDEX campaign_state ON campaign (tenant_id, state, no);

CREATE INDEX campaign_tenant ON campaign (tenant_id, no);

CREATE TABLE "campaign_copy" (
  id              TEXT PRIMARY KEY,
  tenant_id       TEXT NOT NULL,
  name            TEXT NOT NULL DEFAULT '',
  subject         TEXT NOT NULL,
  body_html       TEXT NOT NULL DEFAULT '',
  body_text       TEXT NOT NULL DEFAULT '',
  template        TEXT NOT NULL DEFAULT '', -- JSON object as given; empty: none
  unsubscribe_url TEXT NOT NULL DEFAULT '',
  track_open      INTEGER NOT NULL DEFAULT 0,
  track_click     INTEGER NOT NULL DEFAULT 0,
  created_at      INTEGER NOT NULL
, totals INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;

CREATE INDEX campaign_copy_head ON campaign_copy (id, name, subject);

CREATE TABLE campaign_list (
  list_id     TEXT NOT NULL,
  campaign_no INTEGER NOT NULL,
  PRIMARY KEY (list_id, campaign_no)
) STRICT, WITHOUT ROWID;

CREATE INDEX campaign_list_campaign ON campaign_list (campaign_no);

CREATE TABLE campaign_version (
  no          INTEGER PRIMARY KEY,
  campaign_no INTEGER NOT NULL,
  version     INTEGER NOT NULL,
  fields      TEXT NOT NULL, -- JSON of what is written; empty: as the copy with the campaign's id, for it came with a job
  closed      INTEGER NOT NULL DEFAULT 0, -- 1: another person has looked at it, so the next save begins another one
  kept        INTEGER NOT NULL DEFAULT 0, -- 1: tested, approved, restored or named: neither written on nor dropped
  name        TEXT NOT NULL DEFAULT '',
  saved_by    TEXT NOT NULL DEFAULT '',
  begun_at    INTEGER NOT NULL,
  saved_at    INTEGER NOT NULL, client_id TEXT NOT NULL DEFAULT '',
  UNIQUE (campaign_no, version)
) STRICT;

CREATE TABLE client (
  id                           TEXT PRIMARY KEY,
  tenant_id                    TEXT NOT NULL DEFAULT '', -- empty: the daemon's own
  name                         TEXT NOT NULL,
  client_type                  TEXT NOT NULL CHECK (client_type IN ('public', 'confidential')),
  redirect_uris                TEXT NOT NULL DEFAULT '[]',
  post_logout_redirect_uris    TEXT NOT NULL DEFAULT '[]',
  scopes                       TEXT NOT NULL,
  grant_types                  TEXT NOT NULL,
  token_endpoint_auth_method   TEXT NOT NULL DEFAULT '',
  id_token_signed_response_alg TEXT NOT NULL DEFAULT 'RS256',
  first_party                  INTEGER NOT NULL DEFAULT 0,
  require_pkce                 INTEGER NOT NULL DEFAULT 1,
  secret_hash                  BLOB NOT NULL DEFAULT x'',
  created_at                   INTEGER NOT NULL,
  updated_at                   INTEGER NOT NULL,
  deleted_at                   INTEGER NOT NULL DEFAULT 0
, old_secret_hash BLOB NOT NULL DEFAULT x'', old_secret_until INTEGER NOT NULL DEFAULT 0, created_by TEXT NOT NULL DEFAULT '', disabled_at INTEGER NOT NULL DEFAULT 0, id_token_claims INTEGER NOT NULL DEFAULT 0, epoch INTEGER NOT NULL DEFAULT 1) STRICT, WITHOUT ROWID;

CREATE INDEX client_tenant ON client (tenant_id, id);

CREATE TABLE client_consent (
  user_id    TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  client_id  TEXT NOT NULL,
  scope      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, client_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE code (
  hash         BLOB PRIMARY KEY,
  family_id    TEXT NOT NULL,
  user_id      TEXT NOT NULL,
  client_id    TEXT NOT NULL,
  browser_id   TEXT NOT NULL DEFAULT '',
  redirect_uri TEXT NOT NULL,
  challenge    TEXT NOT NULL,
  nonce        TEXT NOT NULL DEFAULT '',
  scope        TEXT NOT NULL,
  epoch        INTEGER NOT NULL DEFAULT 0, -- of the user when it was given
  amr          TEXT NOT NULL DEFAULT '',
  remote       TEXT NOT NULL DEFAULT '',
  user_agent   TEXT NOT NULL DEFAULT '',
  auth_at      INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  used_at      INTEGER NOT NULL DEFAULT 0
, claims TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;

CREATE INDEX code_expires ON code (expires_at);

CREATE TABLE confirm_token (
  id              TEXT PRIMARY KEY,
  list_id         TEXT NOT NULL,
  subscription_id TEXT NOT NULL,
  generation      INTEGER NOT NULL, -- 0: made for an address that cannot subscribe
  email           TEXT NOT NULL, -- as the request spelled it, and its preferences: for the answer
  preferences     TEXT NOT NULL DEFAULT '{}',
  source          TEXT NOT NULL DEFAULT '', -- of the request, for the ledger once it is confirmed
  remote          TEXT NOT NULL DEFAULT '',
  user_agent      TEXT NOT NULL DEFAULT '',
  created_at      INTEGER NOT NULL
, text_version TEXT NOT NULL DEFAULT '', shared INTEGER NOT NULL DEFAULT 0, evidence TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;

CREATE TABLE consent (
  list_id         TEXT NOT NULL,
  subscription_id TEXT NOT NULL,
  at              INTEGER NOT NULL,
  what            TEXT NOT NULL, -- requested, confirmed, unsubscribed, resumed, disabled, imported
  means           TEXT NOT NULL DEFAULT '',
  source          TEXT NOT NULL DEFAULT '',
  remote          TEXT NOT NULL DEFAULT '',
  user_agent      TEXT NOT NULL DEFAULT '',
  text_version    TEXT NOT NULL DEFAULT '',
  generation      INTEGER NOT NULL, reason TEXT NOT NULL DEFAULT '', job_no INTEGER NOT NULL DEFAULT 0, taken_back INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (list_id, subscription_id, at, what)
) STRICT, WITHOUT ROWID;

CREATE INDEX consent_left ON consent (list_id, reason, at) WHERE what = 'unsubscribed' AND taken_back = 0;

CREATE TABLE consent_text (
  list_id    TEXT NOT NULL,
  version    TEXT NOT NULL,
  text       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (list_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE correction (
  campaign_no INTEGER PRIMARY KEY,
  copy_id     TEXT NOT NULL, -- the campaign_copy that is shown
  subject     TEXT NOT NULL,
  source      TEXT NOT NULL,
  text        TEXT NOT NULL,
  made_by     TEXT NOT NULL,
  made_at     INTEGER NOT NULL
) STRICT;

CREATE TABLE deleted_domain (
  id          TEXT PRIMARY KEY,
  tenant_id   TEXT NOT NULL,
  domain      TEXT NOT NULL,
  token       TEXT NOT NULL,
  verified_by TEXT NOT NULL,
  verified_at INTEGER NOT NULL, -- 0: proposed
  created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX deleted_domain_tenant ON deleted_domain (tenant_id, id);

CREATE TABLE deleted_endpoint (
  id         TEXT PRIMARY KEY,
  tenant_id  TEXT NOT NULL,
  list_id    TEXT NOT NULL,
  name       TEXT NOT NULL,
  url        TEXT NOT NULL,
  events     TEXT NOT NULL,
  secret     BLOB NOT NULL, -- sealed
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  disabled_reason TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX deleted_endpoint_creator ON deleted_endpoint (created_by) WHERE created_by <> '';

CREATE INDEX deleted_endpoint_tenant ON deleted_endpoint (tenant_id, id);

CREATE TABLE device (
  id             TEXT PRIMARY KEY,
  owner_id       TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  name           TEXT NOT NULL,
  representative INTEGER NOT NULL DEFAULT 0,
  created_at     INTEGER NOT NULL,
  unpaired_at    INTEGER NOT NULL DEFAULT 0
, agent_id TEXT NOT NULL DEFAULT '', registered INTEGER NOT NULL DEFAULT 0, registered_at INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;

CREATE INDEX device_agent ON device (agent_id) WHERE agent_id <> '';

CREATE INDEX device_owner ON device (owner_id, id) WHERE unpaired_at = 0;

CREATE UNIQUE INDEX device_representative ON device (owner_id) WHERE representative = 1 AND unpaired_at = 0;

CREATE INDEX device_unpaired ON device (unpaired_at) WHERE unpaired_at > 0;

CREATE INDEX device_user ON device (owner_id);

CREATE TABLE disable_request (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant_id   TEXT NOT NULL,
  email       TEXT NOT NULL,
  reason      TEXT NOT NULL,
  occurred_at INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  due_at      INTEGER NOT NULL,
  tries       INTEGER NOT NULL DEFAULT 0,
  last_error  TEXT NOT NULL DEFAULT ''
, list_id TEXT NOT NULL DEFAULT '') STRICT;

CREATE INDEX disable_request_due ON disable_request (due_at, id);

CREATE TABLE disabled (
  email_key   TEXT NOT NULL,
  tenant_id   TEXT NOT NULL DEFAULT '', -- empty: everywhere
  reason      TEXT NOT NULL,
  disabled_by TEXT NOT NULL,
  occurred_at INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (email_key, tenant_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX disabled_tenant ON disabled (tenant_id) WHERE tenant_id > '';

CREATE TABLE dkim_key (
  id         TEXT PRIMARY KEY,
  tenant_id  TEXT NOT NULL DEFAULT '', -- empty: the daemon's own
  domain     TEXT NOT NULL,
  selector   TEXT NOT NULL,
  algorithm  TEXT NOT NULL CHECK (algorithm IN ('rsa', 'ed25519')),
  status     TEXT NOT NULL CHECK (status IN ('active', 'inactive')),
  public     TEXT NOT NULL,
  private    BLOB NOT NULL, -- PKCS #8
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (domain, selector) -- one record in the DNS
) STRICT, WITHOUT ROWID;

CREATE INDEX dkim_key_tenant ON dkim_key (tenant_id, id);

CREATE TABLE email_change (
  user_id    TEXT PRIMARY KEY REFERENCES user (id) ON DELETE CASCADE,
  hash       BLOB NOT NULL UNIQUE, -- of the mailed token
  old_key    TEXT NOT NULL, -- the address that the user had: another change ends this one
  email      TEXT NOT NULL,
  email_key  TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX email_change_expires ON email_change (expires_at);

CREATE TABLE endpoint_attempt (
  id          INTEGER PRIMARY KEY,
  endpoint_id TEXT NOT NULL,
  event_id    TEXT NOT NULL,
  event_type  TEXT NOT NULL,
  at          INTEGER NOT NULL,
  outcome     TEXT NOT NULL CHECK (outcome IN ('delivered', 'retry', 'dead')),
  status      INTEGER NOT NULL DEFAULT 0, -- of the answer; 0: none came
  took_ms     INTEGER NOT NULL DEFAULT 0,
  reason      TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX endpoint_attempt_endpoint ON endpoint_attempt (endpoint_id, id);

CREATE TABLE engaged_hour (
  job_no  INTEGER NOT NULL,
  hour    INTEGER NOT NULL, -- since 1970, UTC
  opened  INTEGER NOT NULL DEFAULT 0, -- for the first time, by people; times, where mails name no reader
  clicked INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (job_no, hour)
) STRICT, WITHOUT ROWID;

CREATE TABLE engagement (
  job_no   INTEGER NOT NULL,
  seq      INTEGER NOT NULL,
  link_no  INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at  INTEGER NOT NULL,
  times    INTEGER NOT NULL,
  machine  INTEGER NOT NULL, unclear INTEGER NOT NULL DEFAULT 0, first_read INTEGER NOT NULL DEFAULT 0, last_read INTEGER NOT NULL DEFAULT 0, class INTEGER NOT NULL DEFAULT 0, -- of times: by machines
  PRIMARY KEY (job_no, seq, link_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE erased (
  hash       TEXT NOT NULL,
  tenant_id  TEXT NOT NULL, -- empty: everywhere
  kind       TEXT NOT NULL CHECK (kind IN ('left', 'disabled', 'bounced', 'complaint', 'suppressed')),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (hash, tenant_id, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX erased_tenant ON erased (tenant_id) WHERE tenant_id > '';

CREATE TABLE family (
  id         TEXT PRIMARY KEY,
  kind       TEXT NOT NULL CHECK (kind IN ('password', 'code', 'client', 'admin')),
  user_id    TEXT NOT NULL DEFAULT '', -- empty: the client acts for itself
  client_id  TEXT NOT NULL,
  tenant_id  TEXT NOT NULL DEFAULT '', -- of the daemon's own tokens: whom they act for
  scope      TEXT NOT NULL,
  epoch      INTEGER NOT NULL DEFAULT 0, -- of the user at the sign-in
  amr        TEXT NOT NULL DEFAULT '',
  remote     TEXT NOT NULL DEFAULT '',
  user_agent TEXT NOT NULL DEFAULT '',
  browser_id TEXT NOT NULL DEFAULT '', -- of the code flow: where the user was signed in
  auth_at    INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  used_at    INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  revoked_at INTEGER NOT NULL DEFAULT 0
, claims TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;

CREATE INDEX family_client ON family (client_id) WHERE revoked_at = 0;

CREATE INDEX family_expires ON family (expires_at);

CREATE INDEX family_user ON family (user_id, client_id);

CREATE TABLE fed_list (
  list_id   TEXT PRIMARY KEY,
  client_id TEXT NOT NULL, -- the last one
  since     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE frozen_body (
  no   INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE, -- SHA-256 of the body, which many jobs share
  body TEXT NOT NULL
) STRICT;

CREATE TABLE frozen_content (
  copy_id    TEXT PRIMARY KEY REFERENCES "campaign_copy" (id),
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
, list_names TEXT NOT NULL DEFAULT '[]', rule TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;

CREATE TABLE further_list (
  job_no    INTEGER NOT NULL,
  place     INTEGER NOT NULL, -- from 1
  list_id   TEXT NOT NULL,
  after_seq INTEGER,          -- of the last recipient before those of the list; NULL: it has not come to it yet
  PRIMARY KEY (job_no, place)
) STRICT, WITHOUT ROWID;

CREATE INDEX further_list_list ON further_list (list_id, job_no);

CREATE TABLE home (
  no        INTEGER PRIMARY KEY CHECK (no = 1),
  mark      TEXT NOT NULL,
  marked_at INTEGER NOT NULL
) STRICT;

CREATE TABLE idempotency (
  tenant_id  TEXT NOT NULL,
  key        TEXT NOT NULL,
  body_hash  BLOB NOT NULL,
  job_id     TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_expires ON idempotency (expires_at);

CREATE TABLE import_before (
  import_id       TEXT NOT NULL,
  subscription_id TEXT NOT NULL,
  fields          TEXT NOT NULL,
  PRIMARY KEY (import_id, subscription_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE import_chunk (
  import_id TEXT NOT NULL,
  kind      INTEGER NOT NULL,
  no        INTEGER NOT NULL,
  data      BLOB NOT NULL,
  PRIMARY KEY (import_id, kind, no)
) STRICT;

CREATE TABLE import_job (
  id                  TEXT PRIMARY KEY,
  tenant_id           TEXT NOT NULL,
  list_id             TEXT NOT NULL,
  name                TEXT NOT NULL,
  bytes               INTEGER NOT NULL DEFAULT 0,
  status              TEXT NOT NULL CHECK (status IN
    ('uploading', 'uploaded', 'waiting', 'running', 'checked', 'completed', 'failed', 'cancelled', 'deleted')),
  dry_run             INTEGER NOT NULL DEFAULT 0,
  subscriber_status   TEXT NOT NULL DEFAULT 'active' CHECK (subscriber_status IN ('active', 'pending')),
  source              TEXT NOT NULL DEFAULT '',
  mapping             TEXT NOT NULL DEFAULT '{}',
  lines               INTEGER NOT NULL DEFAULT 0,
  added               INTEGER NOT NULL DEFAULT 0,
  updated             INTEGER NOT NULL DEFAULT 0,
  unchanged           INTEGER NOT NULL DEFAULT 0,
  kept                INTEGER NOT NULL DEFAULT 0,
  contradicted        INTEGER NOT NULL DEFAULT 0,
  pending             INTEGER NOT NULL DEFAULT 0,
  failed              INTEGER NOT NULL DEFAULT 0,
  evidence            INTEGER NOT NULL DEFAULT 0,
  evidence_unreadable INTEGER NOT NULL DEFAULT 0,
  evidence_future     INTEGER NOT NULL DEFAULT 0,
  sync_id             TEXT NOT NULL DEFAULT '',
  created_by          TEXT NOT NULL,
  created_at          INTEGER NOT NULL,
  queued_at           INTEGER NOT NULL DEFAULT 0,
  started_at          INTEGER NOT NULL DEFAULT 0,
  finished_at         INTEGER NOT NULL DEFAULT 0,
  failure_reason      TEXT NOT NULL DEFAULT '',
  touched_at          INTEGER NOT NULL, -- of the last part that arrived, or the last run
  announced           INTEGER NOT NULL DEFAULT 0, -- changes that were announced one by one
  done_id             TEXT NOT NULL DEFAULT '', -- of the row that the run has come to, in the order of ids
  done_rows           INTEGER NOT NULL DEFAULT 0 -- rows of this id
, keep_fields INTEGER NOT NULL DEFAULT 0, brought INTEGER NOT NULL DEFAULT 0, undo_status TEXT NOT NULL DEFAULT '', undo_by TEXT NOT NULL DEFAULT '', undone_at INTEGER NOT NULL DEFAULT 0, undo_removed INTEGER NOT NULL DEFAULT 0, undo_pending INTEGER NOT NULL DEFAULT 0, undo_kept INTEGER NOT NULL DEFAULT 0, replaced INTEGER NOT NULL DEFAULT 0, replaced_bytes INTEGER NOT NULL DEFAULT 0, replaced_unkept INTEGER NOT NULL DEFAULT 0, undo_restored INTEGER NOT NULL DEFAULT 0, undo_unrestored INTEGER NOT NULL DEFAULT 0, known_only INTEGER NOT NULL DEFAULT 0, no_address INTEGER NOT NULL DEFAULT 0, typos TEXT NOT NULL DEFAULT '[]', unsubscribed INTEGER NOT NULL DEFAULT 0, bounced INTEGER NOT NULL DEFAULT 0, complained INTEGER NOT NULL DEFAULT 0, suppressed INTEGER NOT NULL DEFAULT 0, not_permitted INTEGER NOT NULL DEFAULT 0, suppress INTEGER NOT NULL DEFAULT 0, may_end INTEGER NOT NULL DEFAULT 0, may_suppress INTEGER NOT NULL DEFAULT 0, barred INTEGER NOT NULL DEFAULT 0, undo_resumed INTEGER NOT NULL DEFAULT 0, undo_lifted INTEGER NOT NULL DEFAULT 0, said INTEGER NOT NULL DEFAULT 0, tagged INTEGER NOT NULL DEFAULT 0, new_tags INTEGER NOT NULL DEFAULT 0, tags_skipped INTEGER NOT NULL DEFAULT 0, made_tags TEXT NOT NULL DEFAULT '[]', undo_untagged INTEGER NOT NULL DEFAULT 0, tool TEXT NOT NULL DEFAULT '', posts INTEGER NOT NULL DEFAULT 0, posts_skipped INTEGER NOT NULL DEFAULT 0, pictures INTEGER NOT NULL DEFAULT 0, pictures_skipped INTEGER NOT NULL DEFAULT 0, post_bytes INTEGER NOT NULL DEFAULT 0, relative_posts INTEGER NOT NULL DEFAULT 0, site TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;

CREATE INDEX import_job_list ON import_job (list_id);

CREATE INDEX import_job_open ON import_job (status, queued_at) WHERE status NOT IN ('completed', 'failed', 'cancelled');

CREATE INDEX import_job_posts ON import_job (tenant_id, post_bytes) WHERE post_bytes > 0;

CREATE INDEX import_job_tenant ON import_job (tenant_id, id);

CREATE INDEX import_job_undo ON import_job (id) WHERE undo_status = 'running';

CREATE TABLE import_picture (
  import_id TEXT NOT NULL,
  no        INTEGER NOT NULL,
  address   TEXT NOT NULL, -- in the posts; of a picture inside a post, its type and SHA-256
  state     TEXT NOT NULL DEFAULT 'listed' CHECK (state IN ('listed', 'waiting', 'stored', 'failed', 'removing')),
  reason    TEXT NOT NULL DEFAULT '', -- why it failed
  media_id  TEXT NOT NULL DEFAULT '', -- the image that the import has added
  PRIMARY KEY (import_id, no)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX import_picture_address ON import_picture (import_id, address);

CREATE INDEX import_picture_media ON import_picture (import_id, media_id);

CREATE INDEX import_picture_removing ON import_picture (import_id, no) WHERE state = 'removing';

CREATE INDEX import_picture_state ON import_picture (import_id, state);

CREATE TABLE import_post (
  import_id TEXT NOT NULL,
  no        INTEGER NOT NULL,
  title     TEXT NOT NULL,
  summary   TEXT NOT NULL,
  slug      TEXT NOT NULL,
  author    TEXT NOT NULL,
  kind      TEXT NOT NULL,
  posted_at INTEGER NOT NULL,
  draft     INTEGER NOT NULL,
  paid      INTEGER NOT NULL,
  body      TEXT NOT NULL, -- clean HTML
  issue_no  INTEGER NOT NULL DEFAULT 0, fetching INTEGER NOT NULL DEFAULT 0, -- 0: not an issue yet, or no more
  PRIMARY KEY (import_id, no)
) STRICT;

CREATE INDEX import_post_fetching ON import_post (import_id, no) WHERE fetching = 1;

CREATE INDEX import_post_issue ON import_post (issue_no) WHERE issue_no > 0;

CREATE TABLE import_word (
  email_key TEXT NOT NULL,
  tenant_id TEXT NOT NULL,
  list_id   TEXT NOT NULL, -- empty: of the suppression list
  import_id TEXT NOT NULL, -- empty: of a command, or of no file
  kind      TEXT NOT NULL CHECK (kind IN ('unsubscribed', 'resumed', 'bounced', 'complaint', 'suppressed')),
  reason    TEXT NOT NULL DEFAULT '', -- as in suppression
  at        INTEGER NOT NULL, -- subscription.changed_at or suppression.created_at, while that is the same row; resumed: event_at
  said_at   INTEGER NOT NULL,
  PRIMARY KEY (email_key, tenant_id, list_id, import_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX import_word_import ON import_word (import_id, email_key) WHERE import_id <> '';

CREATE INDEX import_word_said ON import_word (said_at);

CREATE TABLE imported_issue (
  issue_no INTEGER PRIMARY KEY,
  source   TEXT NOT NULL,
  author   TEXT NOT NULL,
  kind     TEXT NOT NULL,
  body     TEXT NOT NULL -- clean HTML
, body_sum TEXT NOT NULL DEFAULT '', tenant_id TEXT NOT NULL DEFAULT '', old_path TEXT NOT NULL DEFAULT '', site TEXT NOT NULL DEFAULT '') STRICT;

CREATE INDEX imported_issue_old ON imported_issue (tenant_id, old_path);

CREATE TABLE invitation (
  id         TEXT PRIMARY KEY,
  hash       BLOB NOT NULL UNIQUE, -- of the mailed token
  tenant_id  TEXT NOT NULL DEFAULT '', -- empty: for the role operator
  role       TEXT NOT NULL CHECK (role IN ('operator', 'tenant_admin', 'publisher', 'editor', 'viewer')),
  email      TEXT NOT NULL,
  email_key  TEXT NOT NULL,
  invited_by TEXT NOT NULL, -- as the audit trail names who did
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX invitation_email ON invitation (email_key);

CREATE INDEX invitation_expires ON invitation (expires_at);

CREATE INDEX invitation_tenant ON invitation (tenant_id, id);

CREATE TABLE issue (
  no          INTEGER PRIMARY KEY,
  list_id     TEXT NOT NULL,
  campaign_no INTEGER NOT NULL,
  slug        TEXT NOT NULL, -- its place in the address, below that of the list
  title       TEXT NOT NULL, -- subject and preheader, as a reader of whom nothing is known sees them
  summary     TEXT NOT NULL,
  sent_at     INTEGER NOT NULL DEFAULT 0, changed_at INTEGER NOT NULL DEFAULT 0, -- when the first mail could go out; 0: not yet
  UNIQUE (list_id, slug),
  UNIQUE (campaign_no, list_id)
) STRICT;

CREATE INDEX issue_sent ON issue (list_id, sent_at, no);

CREATE VIRTUAL TABLE issue_search USING fts5 (title, words, place, content = '', contentless_delete = 1,
  tokenize = "unicode61 remove_diacritics 2");

CREATE TABLE issue_text (
  issue_no INTEGER PRIMARY KEY,
  words    TEXT NOT NULL, -- of the article, a line for each block
  excerpt  TEXT NOT NULL,
  picture  TEXT NOT NULL DEFAULT '', -- address of the first picture that is stored here
  width    INTEGER NOT NULL DEFAULT 0,
  height   INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE keeper (
  record TEXT NOT NULL, -- id of the client or webhook_endpoint
  actor  TEXT NOT NULL, -- as audit names them
  PRIMARY KEY (record, actor)
) STRICT, WITHOUT ROWID;

CREATE INDEX keeper_actor ON keeper (actor, record);

CREATE TABLE known_device (
  user_id TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  key     TEXT NOT NULL,
  used_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX known_device_used ON known_device (used_at);

CREATE TABLE link (
  job_no          INTEGER NOT NULL,
  no              INTEGER NOT NULL,
  url             TEXT NOT NULL,
  clicked         INTEGER NOT NULL DEFAULT 0, -- recipients
  machine_clicked INTEGER NOT NULL DEFAULT 0, target TEXT NOT NULL DEFAULT '', mended_at INTEGER NOT NULL DEFAULT 0, -- of them: machines alone
  PRIMARY KEY (job_no, no)
) STRICT, WITHOUT ROWID;

CREATE TABLE link_proposal (
  campaign_no INTEGER NOT NULL,
  link_no     INTEGER NOT NULL,
  target      TEXT NOT NULL,
  made_by     TEXT NOT NULL,
  made_at     INTEGER NOT NULL,
  PRIMARY KEY (campaign_no, link_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE list (
  id                   TEXT PRIMARY KEY,
  tenant_id            TEXT NOT NULL,
  name                 TEXT NOT NULL,
  status               TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'inactive')),
  confirm_token        TEXT NOT NULL DEFAULT '' CHECK (confirm_token IN ('', 'live', 'receipt', 'trusted')),
  require_mailed_proof INTEGER NOT NULL DEFAULT 0,
  sync_removes_absent  INTEGER NOT NULL DEFAULT 1,
  created_at           INTEGER NOT NULL,
  updated_at           INTEGER NOT NULL,
  deleted_at           INTEGER NOT NULL DEFAULT 0
, language TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '', consent_text TEXT NOT NULL DEFAULT '', fields TEXT NOT NULL DEFAULT '[]', mail_texts TEXT NOT NULL DEFAULT '{}', subscribe_redirect_url TEXT NOT NULL DEFAULT '', confirm_redirect_url TEXT NOT NULL DEFAULT '', unsubscribe_redirect_url TEXT NOT NULL DEFAULT '', confirm_floor TEXT NOT NULL DEFAULT '', archive INTEGER NOT NULL DEFAULT 0, slug TEXT NOT NULL DEFAULT '', import_undone INTEGER NOT NULL DEFAULT 0, signup_tag_id TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;

CREATE INDEX list_deleted ON list (deleted_at) WHERE deleted_at > 0;

CREATE INDEX list_slug ON list (slug) WHERE slug <> '';

CREATE INDEX list_tenant ON list (tenant_id, id);

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

CREATE TABLE mail (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  kind        TEXT NOT NULL,
  tenant_id   TEXT NOT NULL DEFAULT '',
  list_id     TEXT NOT NULL DEFAULT '',
  email       TEXT NOT NULL,
  email_key   TEXT NOT NULL,
  token_id    TEXT NOT NULL DEFAULT '', -- of the row whose token the mail carries
  params      TEXT NOT NULL DEFAULT '{}',
  state       INTEGER NOT NULL DEFAULT 0, -- 0 queued, 1 sent, 2 failed, 3 left out
  tries       INTEGER NOT NULL DEFAULT 0,
  due_at      INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  finished_at INTEGER NOT NULL DEFAULT 0,
  reason      TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX mail_due ON mail (due_at) WHERE state = 0;

CREATE INDEX mail_email ON mail (email_key, kind, created_at, list_id) WHERE state != 3;

CREATE INDEX mail_failed ON mail (id) WHERE state = 2;

CREATE INDEX mail_left_out ON mail (email_key, list_id, created_at) WHERE state = 3;

CREATE TABLE mail_server (
  id         INTEGER PRIMARY KEY CHECK (id IN (1, 2)),
  relay      TEXT NOT NULL, -- core.Relay without its password
  secret     BLOB NOT NULL, -- the password, sealed; empty: none
  mail_from  TEXT NOT NULL,
  changed_at INTEGER NOT NULL -- of 2: when it was replaced
) STRICT;

CREATE TABLE mark (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE media (
  id         TEXT PRIMARY KEY,
  tenant_id  TEXT NOT NULL,
  name       TEXT NOT NULL,
  mail_no    INTEGER NOT NULL REFERENCES media_file (no), -- as mails show it
  full_no    INTEGER NOT NULL REFERENCES media_file (no), -- as large as it is kept
  alt        TEXT NOT NULL DEFAULT '',
  decorative INTEGER NOT NULL DEFAULT 0,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX media_full ON media (full_no);

CREATE INDEX media_mail ON media (mail_no);

CREATE INDEX media_tenant ON media (tenant_id, id);

CREATE TABLE media_chunk (
  file_no  INTEGER NOT NULL REFERENCES media_file (no),
  chunk_no INTEGER NOT NULL,
  data     BLOB NOT NULL,
  PRIMARY KEY (file_no, chunk_no)
) STRICT;

CREATE TABLE media_file (
  no         INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant_id  TEXT NOT NULL,
  sha256     TEXT NOT NULL, -- hex
  type       TEXT NOT NULL,
  width      INTEGER NOT NULL,
  height     INTEGER NOT NULL,
  bytes      INTEGER NOT NULL,
  state      INTEGER NOT NULL DEFAULT 0, -- on its way in (0), whole (1), to be removed (2)
  touched_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX media_file_content ON media_file (sha256, tenant_id) WHERE state = 1;

CREATE INDEX media_file_state ON media_file (state) WHERE state <> 1;

CREATE INDEX media_file_tenant ON media_file (tenant_id, state, bytes);

CREATE TABLE model (
  no           INTEGER PRIMARY KEY AUTOINCREMENT,
  id           TEXT NOT NULL UNIQUE,
  owner_id     TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  file_no      INTEGER NOT NULL UNIQUE REFERENCES model_file (no),
  name         TEXT NOT NULL,
  description  TEXT NOT NULL DEFAULT '',
  size         INTEGER NOT NULL,
  sha256       TEXT NOT NULL,
  content_type TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
, visibility TEXT NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'tenant', 'public'))) STRICT;

CREATE INDEX model_owner ON model (owner_id);

CREATE INDEX model_public ON model (visibility) WHERE visibility = 'public';

CREATE TABLE model_chunk (
  file_no  INTEGER NOT NULL REFERENCES model_file (no),
  chunk_no INTEGER NOT NULL,
  data     BLOB NOT NULL,
  PRIMARY KEY (file_no, chunk_no)
) STRICT;

CREATE TABLE model_file (
  no         INTEGER PRIMARY KEY AUTOINCREMENT,
  owner_id   TEXT NOT NULL,
  state      INTEGER NOT NULL DEFAULT 0,
  by_daemon  INTEGER NOT NULL, -- such an upload is dead once the daemon starts anew
  size       INTEGER NOT NULL DEFAULT 0, -- bytes that are here
  chunks     INTEGER NOT NULL DEFAULT 0,
  touched_at INTEGER NOT NULL
) STRICT;

CREATE INDEX model_file_state ON model_file (state) WHERE state <> 1;

CREATE VIRTUAL TABLE model_search USING fts5 (name, audience, content = '', contentless_delete = 1,
  tokenize = "unicode61 remove_diacritics 2");

CREATE TABLE model_total (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  bytes INTEGER NOT NULL
) STRICT;

CREATE TABLE model_usage (
  owner_id TEXT PRIMARY KEY REFERENCES user (id) ON DELETE CASCADE,
  bytes    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  event_id        TEXT NOT NULL,
  event_type      TEXT NOT NULL,
  tenant_id       TEXT NOT NULL,
  list_id         TEXT NOT NULL,
  subscription_id TEXT NOT NULL,
  body            TEXT NOT NULL,
  occurred_at     INTEGER NOT NULL,
  due_at          INTEGER NOT NULL,
  tries           INTEGER NOT NULL DEFAULT 0,
  dead_at         INTEGER NOT NULL DEFAULT 0,
  last_error      TEXT NOT NULL DEFAULT ''
, revived_at INTEGER NOT NULL DEFAULT 0, endpoint_id TEXT NOT NULL DEFAULT '', failed_at INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE INDEX outbox_age ON outbox (endpoint_id, max(occurred_at, revived_at)) WHERE dead_at = 0 AND endpoint_id > '';

CREATE INDEX outbox_dead ON outbox (dead_at, id, endpoint_id) WHERE dead_at > 0;

CREATE INDEX outbox_due ON outbox (endpoint_id, due_at, id) WHERE dead_at = 0;

CREATE INDEX outbox_event ON outbox (event_id);

CREATE INDEX outbox_subscription ON outbox (list_id, subscription_id, endpoint_id, id) WHERE dead_at = 0;

CREATE TABLE pace (
  scope TEXT PRIMARY KEY, -- as in quota
  width INTEGER NOT NULL, -- of a part of the period, in milliseconds
  parts TEXT NOT NULL     -- JSON: messages by the number of their part, counted from 1970
) STRICT, WITHOUT ROWID;

CREATE TABLE passkey (
  id          TEXT PRIMARY KEY,
  user_id     TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  rp_id       TEXT NOT NULL,              -- host that it was made for; good for no other
  name        TEXT NOT NULL,
  credential  BLOB NOT NULL UNIQUE,       -- the authenticator's name for it
  public_key  BLOB NOT NULL,              -- COSE
  sign_count  INTEGER NOT NULL,
  synced      INTEGER NOT NULL,           -- 1: its maker may copy it to other devices of the user
  created_at  INTEGER NOT NULL,
  used_at     INTEGER NOT NULL DEFAULT 0  -- 0: never
) STRICT, WITHOUT ROWID;

CREATE INDEX passkey_user ON passkey (user_id);

CREATE TABLE poll (
  no           INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant_id    TEXT NOT NULL,
  campaign_id  TEXT NOT NULL,
  number       INTEGER NOT NULL, -- in the campaign, from 1
  question     TEXT NOT NULL,
  field        TEXT NOT NULL,    -- of the lists, takes the answer; empty: none
  show_results INTEGER NOT NULL, -- 1: people who answered see the results
  closes_at    INTEGER NOT NULL,
  closed_at    INTEGER NOT NULL DEFAULT 0,
  UNIQUE (campaign_id, number)
) STRICT;

CREATE TABLE poll_answer (
  poll_no       INTEGER NOT NULL,
  list_id       TEXT NOT NULL,
  subscriber_id TEXT NOT NULL,
  option        INTEGER NOT NULL,
  changes       INTEGER NOT NULL DEFAULT 0, -- how often the person chose another option
  at            INTEGER NOT NULL,
  PRIMARY KEY (poll_no, list_id, subscriber_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX poll_answer_person ON poll_answer (list_id, subscriber_id);

CREATE TABLE poll_option (
  poll_no INTEGER NOT NULL,
  number  INTEGER NOT NULL, -- in the poll, from 1
  text    TEXT NOT NULL,
  answers INTEGER NOT NULL DEFAULT 0, -- rows of poll_answer, kept by triggers
  PRIMARY KEY (poll_no, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE provider (
  name        TEXT PRIMARY KEY,
  kind        TEXT NOT NULL,
  tenant_id   TEXT NOT NULL DEFAULT '', -- empty: every tenant
  secret      BLOB NOT NULL DEFAULT x'', -- sealed, as the operator wrote it
  old_secret  BLOB NOT NULL DEFAULT x'',
  topics      TEXT NOT NULL DEFAULT '[]', -- of kind ses: the topics that are listened to
  disabled_at INTEGER NOT NULL DEFAULT 0,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE provider_event (
  id          INTEGER PRIMARY KEY,
  provider    TEXT NOT NULL,
  event_key   BLOB NOT NULL, -- what makes two events the same
  tenant_id   TEXT NOT NULL, -- empty: nobody's
  message_id  TEXT NOT NULL,
  event_type  TEXT NOT NULL,
  bounce_type TEXT NOT NULL DEFAULT '',
  email_key   TEXT NOT NULL,
  occurred_at INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  job_no      INTEGER NOT NULL DEFAULT 0, -- 0: no recipient of ours
  seq         INTEGER NOT NULL DEFAULT 0,
  UNIQUE (provider, event_key)
) STRICT;

CREATE INDEX provider_event_recipient ON provider_event (job_no, seq) WHERE job_no > 0;

CREATE INDEX provider_event_stranger ON provider_event (email_key) WHERE job_no = 0;

CREATE TABLE purpose_key (
  name       TEXT PRIMARY KEY,
  secret     BLOB NOT NULL, -- sealed
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE queue_id (
  id      TEXT PRIMARY KEY,
  job_no  INTEGER NOT NULL,
  seq     INTEGER NOT NULL,
  sent_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX queue_id_sent ON queue_id (sent_at);

CREATE TABLE quota (
  scope TEXT PRIMARY KEY, -- "tenant:" and its id, "relay:" and its id, or "relay" for the daemon's own
  day   INTEGER NOT NULL, -- days since 1970 in UTC
  used  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE received_sync (
  no          INTEGER PRIMARY KEY,
  tenant_id   TEXT NOT NULL,
  sync_id     TEXT NOT NULL,
  list_id     TEXT NOT NULL,
  client_id   TEXT NOT NULL,
  batch_total INTEGER NOT NULL,
  batches     INTEGER NOT NULL DEFAULT 0,
  occurred_at INTEGER NOT NULL,
  removing    INTEGER NOT NULL DEFAULT 0, -- 1: the work item is open
  removed_to  TEXT NOT NULL DEFAULT '',   -- keyset position of the removal
  finished_at INTEGER NOT NULL DEFAULT 0,
  UNIQUE (tenant_id, sync_id)
) STRICT;

CREATE INDEX received_sync_list ON received_sync (list_id, no);

CREATE INDEX received_sync_open ON received_sync (no) WHERE removing = 1;

CREATE TABLE recipient (
  job_no      INTEGER NOT NULL,
  seq         INTEGER NOT NULL,
  subscriber_id TEXT NOT NULL,
  email_key   TEXT NOT NULL,
  state       INTEGER NOT NULL DEFAULT 0, -- 0 queued, 1 deferred, 2 sent, 3 failed, 4 skipped
  tries       INTEGER NOT NULL DEFAULT 0,
  due_at      INTEGER NOT NULL DEFAULT 0, -- of a deferred one
  finished_at INTEGER NOT NULL DEFAULT 0,
  ambiguous   INTEGER NOT NULL DEFAULT 0,
  reason      TEXT NOT NULL DEFAULT '',
  marks       INTEGER NOT NULL DEFAULT 0, -- bits: 1 delivered, 2 bounced, 4 complained, 8 opened, 16 clicked
  PRIMARY KEY (job_no, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX recipient_bounced ON recipient (job_no, seq) WHERE marks & 2 <> 0;

CREATE INDEX recipient_deferred ON recipient (job_no, due_at) WHERE state = 1;

CREATE INDEX recipient_marked ON recipient (job_no, seq, marks) WHERE marks > 1;

CREATE TABLE recipient_page (
  job_no    INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  first_id  TEXT NOT NULL,
  states    BLOB NOT NULL, -- a byte for each recipient: 0 got nothing, 1 may have got the email, 2 got it
  ids       BLOB NOT NULL, -- 16 bytes for each
  PRIMARY KEY (job_no, first_seq, first_id) -- the search for an id reads only the index
) STRICT;

CREATE TABLE recipient_word (
  job_no INTEGER NOT NULL,
  word   TEXT NOT NULL,
  seq    INTEGER NOT NULL,
  PRIMARY KEY (job_no, word, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE recovery_code (
  user_id TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  hash    BLOB NOT NULL,
  PRIMARY KEY (user_id, hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE refresh (
  hash       BLOB PRIMARY KEY,
  family_id  TEXT NOT NULL REFERENCES family (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at    INTEGER NOT NULL DEFAULT 0,
  successor  BLOB NOT NULL DEFAULT x'' -- sealed under the used token
) STRICT, WITHOUT ROWID;

CREATE INDEX refresh_expires ON refresh (expires_at);

CREATE INDEX refresh_family ON refresh (family_id);

CREATE TABLE "role" (
  user_id    TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  role       TEXT NOT NULL CHECK (role IN ('operator', 'tenant_admin', 'publisher', 'editor', 'viewer')),
  tenant_id  TEXT NOT NULL DEFAULT '', -- of all but operator
  created_at INTEGER NOT NULL,
  pending    INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (user_id, role, tenant_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX role_tenant ON role (tenant_id, user_id);

CREATE TABLE schema_migration (
  number     INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  checksum   TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE seen_batch (
  id         INTEGER PRIMARY KEY,
  tenant_id  TEXT NOT NULL,
  sync_id    TEXT NOT NULL,
  batch_no   INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  UNIQUE (tenant_id, sync_id, batch_no)
) STRICT;

CREATE TABLE seen_event (
  id         INTEGER PRIMARY KEY,
  tenant_id  TEXT NOT NULL,
  event_id   TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  UNIQUE (tenant_id, event_id)
) STRICT;

CREATE TABLE seen_nonce (
  id         INTEGER PRIMARY KEY,
  client_id  TEXT NOT NULL,
  nonce      TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  UNIQUE (client_id, nonce)
) STRICT;

CREATE TABLE segment (
  id         TEXT PRIMARY KEY,
  tenant_id  TEXT NOT NULL,
  name       TEXT NOT NULL,
  rule       TEXT NOT NULL,    -- core.Rule as JSON
  revision   INTEGER NOT NULL, -- counts changes, from 1
  created_by TEXT NOT NULL,    -- actor; '': erased
  created_at INTEGER NOT NULL,
  changed_by TEXT NOT NULL,    -- actor; '': erased
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX segment_changer ON segment (changed_by) WHERE changed_by <> '';

CREATE INDEX segment_creator ON segment (created_by) WHERE created_by <> '';

CREATE UNIQUE INDEX segment_name ON segment (tenant_id, name);

CREATE TABLE send_job (
  no             INTEGER PRIMARY KEY AUTOINCREMENT,
  id             TEXT NOT NULL UNIQUE,
  tenant_id      TEXT NOT NULL,
  list_id        TEXT NOT NULL,
  copy_id    TEXT NOT NULL REFERENCES "campaign_copy" (id),
  status         TEXT NOT NULL CHECK (status IN ('pending', 'running', 'completed', 'failed', 'cancelled')),
  scheduled_at   INTEGER NOT NULL DEFAULT 0,
  window_start   INTEGER NOT NULL DEFAULT 0,
  window_end     INTEGER NOT NULL DEFAULT 0,
  due_at         INTEGER NOT NULL, -- the later of the two starts
  retry_of       TEXT NOT NULL DEFAULT '', -- id of the job whose unsent recipients this one takes
  created_by     TEXT NOT NULL DEFAULT '',
  created_at     INTEGER NOT NULL,
  started_at     INTEGER NOT NULL DEFAULT 0,
  finished_at    INTEGER NOT NULL DEFAULT 0,
  failure_reason TEXT NOT NULL DEFAULT '',
  paused_at      INTEGER NOT NULL DEFAULT 0,
  pause_reason   TEXT NOT NULL DEFAULT '',
  expanded_to    TEXT NOT NULL DEFAULT '', -- keyset position of the expansion
  expanded       INTEGER NOT NULL DEFAULT 0, -- 1: every recipient has its row
  recipients     INTEGER NOT NULL DEFAULT 0,
  sent           INTEGER NOT NULL DEFAULT 0,
  failed         INTEGER NOT NULL DEFAULT 0,
  skipped        INTEGER NOT NULL DEFAULT 0,
  ambiguous      INTEGER NOT NULL DEFAULT 0,
  delivered      INTEGER NOT NULL DEFAULT 0,
  bounced        INTEGER NOT NULL DEFAULT 0,
  complained     INTEGER NOT NULL DEFAULT 0,
  opened         INTEGER NOT NULL DEFAULT 0,
  clicked        INTEGER NOT NULL DEFAULT 0,
  unsubscribed   INTEGER NOT NULL DEFAULT 0
, hard_bounced INTEGER NOT NULL DEFAULT 0, machine_opened INTEGER NOT NULL DEFAULT 0, machine_clicked INTEGER NOT NULL DEFAULT 0, unstoppable INTEGER NOT NULL DEFAULT 0, deferred INTEGER NOT NULL DEFAULT 0, gives_up_at INTEGER NOT NULL DEFAULT 0, campaign_id TEXT NOT NULL DEFAULT '', tracked INTEGER NOT NULL DEFAULT 0, people_opened INTEGER NOT NULL DEFAULT 0, unclear_opened INTEGER NOT NULL DEFAULT 0, scanner_opened INTEGER NOT NULL DEFAULT 0, first_few INTEGER NOT NULL DEFAULT 0, first_until INTEGER NOT NULL DEFAULT 0, lists INTEGER NOT NULL DEFAULT 1, narrowing TEXT NOT NULL DEFAULT '', expected INTEGER NOT NULL DEFAULT 0, duplicates INTEGER NOT NULL DEFAULT 0, excluded INTEGER NOT NULL DEFAULT 0, transport TEXT NOT NULL DEFAULT '', paged INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE INDEX send_job_campaign ON send_job (campaign_id, no);

CREATE INDEX send_job_copy ON send_job (copy_id);

CREATE INDEX send_job_due ON send_job (due_at) WHERE status = 'pending';

CREATE INDEX send_job_list ON send_job (list_id, no);

CREATE INDEX send_job_retry ON send_job (retry_of) WHERE retry_of <> '';

CREATE INDEX send_job_running ON send_job (no) WHERE status = 'running';

CREATE INDEX send_job_tenant ON send_job (tenant_id, no);

CREATE INDEX send_job_unpaged ON send_job (no) WHERE finished_at > 0 AND paged = 0 AND recipients >= 4096;

CREATE TABLE sender_domain (
  id           TEXT PRIMARY KEY,
  tenant_id    TEXT NOT NULL,
  domain       TEXT NOT NULL,
  token        TEXT NOT NULL,              -- what the TXT record has to name
  verified_by  TEXT NOT NULL DEFAULT '' CHECK (verified_by IN ('', 'dns', 'operator', 'before')),
  verified_at  INTEGER NOT NULL DEFAULT 0, -- 0: proposed
  checked_at   INTEGER NOT NULL DEFAULT 0,
  check_result TEXT NOT NULL DEFAULT '',
  found_at     TEXT NOT NULL DEFAULT '',   -- the name of a record that is misplaced
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  UNIQUE (tenant_id, domain)
) STRICT, WITHOUT ROWID;

CREATE INDEX sender_domain_domain ON sender_domain (domain);

CREATE INDEX sender_domain_tenant ON sender_domain (tenant_id, id);

CREATE TABLE sessions (
  token  TEXT PRIMARY KEY,
  data   BLOB NOT NULL,
  expiry REAL NOT NULL
) STRICT;

CREATE INDEX sessions_expiry ON sessions (expiry);

CREATE TABLE share (
  id         TEXT PRIMARY KEY,
  model_no   INTEGER NOT NULL REFERENCES model (no) ON DELETE CASCADE,
  user_id    TEXT NOT NULL DEFAULT '', -- of a share by user
  email      TEXT NOT NULL DEFAULT '', -- of a share by address, as typed
  email_key  TEXT NOT NULL DEFAULT '',
  holder     TEXT NOT NULL,            -- u and the user's id, or e and a MAC of the address
  permission TEXT NOT NULL DEFAULT 'read' CHECK (permission = 'read'),
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX share_email ON share (email_key) WHERE email_key <> '';

CREATE UNIQUE INDEX share_holder ON share (holder, model_no);

CREATE INDEX share_model ON share (model_no, id);

CREATE INDEX share_user ON share (user_id) WHERE user_id <> '';

CREATE TABLE signing_key (
  kid        TEXT PRIMARY KEY,
  alg        TEXT NOT NULL,
  private    BLOB NOT NULL, -- sealed PKCS #8
  created_at INTEGER NOT NULL,
  active_at  INTEGER NOT NULL, -- signs from here on
  retired_at INTEGER NOT NULL DEFAULT 0, -- signs no more
  expires_at INTEGER NOT NULL DEFAULT 0  -- leaves the key set: its last token has expired
) STRICT, WITHOUT ROWID;

CREATE TABLE subscriber (
  list_id      TEXT NOT NULL,
  email_key    TEXT NOT NULL,
  id           TEXT NOT NULL,
  email        TEXT NOT NULL,
  word         TEXT NOT NULL CHECK (word IN ('active', 'unsubscribed')),
  word_at      INTEGER NOT NULL,
  block        TEXT NOT NULL DEFAULT '' CHECK (block = '' OR block = 'bounced' OR block = 'complaint' OR block = 'suppressed'),
  block_at     INTEGER NOT NULL DEFAULT 0,
  preferences  TEXT NOT NULL DEFAULT '{}',
  soft_bounces INTEGER NOT NULL DEFAULT 0, -- in a row
  soft_at      INTEGER NOT NULL DEFAULT 0, -- of the first of them
  sync_no      INTEGER NOT NULL DEFAULT 0, -- of the last full sync that named it
  created_at   INTEGER NOT NULL,
  changed_at   INTEGER NOT NULL, doubted_at INTEGER NOT NULL DEFAULT 0, joined_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (list_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE subscription (
  list_id     TEXT NOT NULL,
  id          TEXT NOT NULL,
  email       TEXT NOT NULL,
  email_key   TEXT NOT NULL,
  status      TEXT NOT NULL CHECK (status = 'active' OR status = 'pending' OR status = 'unsubscribed'),
  preferences TEXT NOT NULL DEFAULT '{}',
  generation  INTEGER NOT NULL DEFAULT 1, -- counts up with each new subscription after an unsubscribe
  means       TEXT NOT NULL DEFAULT '',   -- how the present state was proved: response, mailed, import, admin
  created_at  INTEGER NOT NULL,
  changed_at  INTEGER NOT NULL,           -- of the status
  event_at    INTEGER NOT NULL DEFAULT 0, asked_at INTEGER NOT NULL DEFAULT 0, heard_at INTEGER NOT NULL DEFAULT 0, -- occurred_at of the last event
  PRIMARY KEY (list_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX subscription_asked ON subscription (list_id, asked_at, heard_at, changed_at, status) WHERE asked_at > 0;

CREATE INDEX subscription_pending ON subscription (changed_at) WHERE status = 'pending';

CREATE INDEX subscription_waiting ON subscription (list_id, changed_at, id, asked_at) WHERE status = 'pending' AND generation = 1;

CREATE TABLE suppression (
  tenant_id  TEXT NOT NULL,
  email_key  TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('bounced', 'complaint', 'suppressed')),
  reason     TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL, import_id TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (tenant_id, email_key)
) STRICT, WITHOUT ROWID;

CREATE INDEX suppression_email ON suppression (email_key) WHERE email_key > '';

CREATE INDEX suppression_import ON suppression (import_id) WHERE import_id <> '';

CREATE TABLE sync (
  id          TEXT PRIMARY KEY,
  tenant_id   TEXT NOT NULL,
  list_id     TEXT NOT NULL,
  batch_total INTEGER NOT NULL DEFAULT 0, -- 0: not planned yet
  due_at      INTEGER NOT NULL, -- not planned before
  started_at  INTEGER NOT NULL, -- of the plan: occurred_at of every batch
  finished_at INTEGER NOT NULL DEFAULT 0,
  failed_at   INTEGER NOT NULL DEFAULT 0,
  reason      TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE INDEX sync_due ON sync (due_at, id) WHERE finished_at = 0 AND failed_at = 0;

CREATE INDEX sync_list ON sync (list_id, started_at);

CREATE INDEX sync_list_id ON sync (list_id, id);

CREATE INDEX sync_tenant ON sync (tenant_id, id);

CREATE TABLE sync_batch (
  sync_id  TEXT NOT NULL REFERENCES sync (id) ON DELETE CASCADE,
  batch_no INTEGER NOT NULL,
  from_id  TEXT NOT NULL, -- exclusive
  to_id    TEXT NOT NULL, -- inclusive
  due_at   INTEGER NOT NULL,
  tries    INTEGER NOT NULL DEFAULT 0,
  done_at  INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (sync_id, batch_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE tag (
  no         INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT NOT NULL UNIQUE,
  tenant_id  TEXT NOT NULL,
  name       TEXT NOT NULL,
  name_key   TEXT NOT NULL, -- folded
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX tag_name ON tag (tenant_id, name_key);

CREATE TABLE tagged (
  list_id TEXT NOT NULL,
  id      TEXT NOT NULL,    -- of the subscriber and the subscription
  tag_no  INTEGER NOT NULL, -- of a deleted tag until the row is swept
  at      INTEGER NOT NULL,
  PRIMARY KEY (list_id, id, tag_no)
) STRICT, WITHOUT ROWID;

CREATE INDEX tagged_tag ON tagged (tag_no);

CREATE TABLE template (
  tenant_id  TEXT NOT NULL,
  name       TEXT NOT NULL,
  id         TEXT NOT NULL UNIQUE,
  layout     TEXT NOT NULL DEFAULT '', -- name of another template with {{content}}
  body_html  TEXT NOT NULL DEFAULT '',
  body_text  TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL, audit_seen INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenant (
  id             TEXT PRIMARY KEY,
  name           TEXT NOT NULL,
  domains        TEXT NOT NULL DEFAULT '[]',
  status         TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  mail_from      TEXT NOT NULL DEFAULT '',
  mail_from_name TEXT NOT NULL DEFAULT '',
  reply_to       TEXT NOT NULL DEFAULT '',
  postal_address TEXT NOT NULL DEFAULT '',
  public_url     TEXT NOT NULL DEFAULT '',
  brand_name     TEXT NOT NULL DEFAULT '',
  brand_color    TEXT NOT NULL DEFAULT '',
  brand_logo_url TEXT NOT NULL DEFAULT '',
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  deleted_at     INTEGER NOT NULL DEFAULT 0
, privacy_url TEXT NOT NULL DEFAULT '', language TEXT NOT NULL DEFAULT '', mail_texts TEXT NOT NULL DEFAULT '{}', relays TEXT NOT NULL DEFAULT '[]', relay_secrets BLOB NOT NULL DEFAULT x'', send_limits TEXT NOT NULL DEFAULT '{}', no_tracking INTEGER NOT NULL DEFAULT 0, approval TEXT NOT NULL DEFAULT 'none', first_few INTEGER NOT NULL DEFAULT 0, totals_only INTEGER NOT NULL DEFAULT 0, tracking_consent INTEGER NOT NULL DEFAULT 0, test_addresses TEXT NOT NULL DEFAULT '[]', time_zone TEXT NOT NULL DEFAULT '', brand_dark_logo_url TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;

CREATE INDEX tenant_deleted ON tenant (deleted_at) WHERE deleted_at > 0;

CREATE INDEX tenant_with_relays ON tenant (id) WHERE relays != '[]' AND deleted_at = 0;

CREATE TABLE theme (
  id             TEXT PRIMARY KEY,
  tenant_id      TEXT NOT NULL,
  name           TEXT NOT NULL,
  base           TEXT NOT NULL, -- the built-in theme that it was made of
  light          TEXT NOT NULL, -- JSON: colours
  dark           TEXT NOT NULL,
  font           TEXT NOT NULL, -- word of a stack
  heading_font   TEXT NOT NULL,
  size           INTEGER NOT NULL, -- pixels
  heading_weight INTEGER NOT NULL,
  width          INTEGER NOT NULL,
  padding        INTEGER NOT NULL,
  radius         INTEGER NOT NULL,
  masthead       TEXT NOT NULL,
  logo_url       TEXT NOT NULL, -- empty: the tenant's
  logo_width     INTEGER NOT NULL,
  footer_text    TEXT NOT NULL,
  postal_address TEXT NOT NULL, -- empty: the tenant's
  social         TEXT NOT NULL, -- JSON: names and addresses
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL, audit_seen INTEGER NOT NULL DEFAULT 0,
  UNIQUE (tenant_id, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX theme_tenant ON theme (tenant_id, id);

CREATE TABLE throttle (
  key        TEXT PRIMARY KEY,
  count      INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX throttle_expires ON throttle (expires_at);

CREATE TABLE total (
  job_no   INTEGER NOT NULL,
  link_no  INTEGER NOT NULL, -- 0: openings
  people   INTEGER NOT NULL DEFAULT 0, -- times, not readers
  unclear  INTEGER NOT NULL DEFAULT 0,
  scanners INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (job_no, link_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE totp (
  user_id      TEXT PRIMARY KEY REFERENCES user (id) ON DELETE CASCADE,
  secret       BLOB NOT NULL,              -- sealed
  created_at   INTEGER NOT NULL,
  confirmed_at INTEGER NOT NULL DEFAULT 0, -- 0: shown, and not confirmed by a code yet
  last_step    INTEGER NOT NULL DEFAULT 0  -- of the last code taken: each is good once
) STRICT, WITHOUT ROWID;

CREATE TABLE user (
  id             TEXT PRIMARY KEY,
  email          TEXT NOT NULL,
  email_key      TEXT NOT NULL UNIQUE,
  email_verified INTEGER NOT NULL DEFAULT 0,
  name           TEXT NOT NULL,
  password_hash  TEXT NOT NULL DEFAULT '', -- PHC string; empty: no password login
  epoch          INTEGER NOT NULL DEFAULT 0, -- counts up when everything issued so far ends
  disabled_at    INTEGER NOT NULL DEFAULT 0,
  last_login_at  INTEGER NOT NULL DEFAULT 0,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL
, self_registered INTEGER NOT NULL DEFAULT 0, language TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;

CREATE TABLE user_token (
  id         TEXT PRIMARY KEY,
  purpose    TEXT NOT NULL CHECK (purpose IN ('verify', 'reset', 'claim')),
  hash       BLOB NOT NULL UNIQUE,
  user_id    TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  email_key  TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at    INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX user_token_expires ON user_token (expires_at);

CREATE INDEX user_token_user ON user_token (user_id, purpose);

CREATE TABLE webhook_client (
  id          TEXT PRIMARY KEY,
  tenant_id   TEXT NOT NULL DEFAULT '', -- empty: every tenant
  name        TEXT NOT NULL DEFAULT '',
  secret      BLOB NOT NULL, -- sealed
  old_secret  BLOB NOT NULL DEFAULT x'',
  disabled_at INTEGER NOT NULL DEFAULT 0,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_client_tenant ON webhook_client (tenant_id, id);

CREATE TABLE webhook_endpoint (
  id              TEXT PRIMARY KEY,
  tenant_id       TEXT NOT NULL,
  list_id         TEXT NOT NULL DEFAULT '',   -- empty: every list
  name            TEXT NOT NULL DEFAULT '',
  url             TEXT NOT NULL,
  events          TEXT NOT NULL DEFAULT '[]', -- event types; none: all
  secret          BLOB NOT NULL, -- sealed
  old_secret      BLOB NOT NULL DEFAULT x'',
  old_until       INTEGER NOT NULL DEFAULT 0, -- signs beside the new one until then
  failing_since   INTEGER NOT NULL DEFAULT 0, -- first failure since the last success
  disabled_at     INTEGER NOT NULL DEFAULT 0,
  disabled_reason TEXT NOT NULL DEFAULT '',
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL
, waiting INTEGER NOT NULL DEFAULT 0, dropped_id INTEGER NOT NULL DEFAULT 0, waiting_bytes INTEGER NOT NULL DEFAULT 0, created_by TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;

CREATE INDEX webhook_endpoint_tenant ON webhook_endpoint (tenant_id, id);

CREATE TRIGGER attachment_gone AFTER DELETE ON attachment BEGIN
  UPDATE media_file SET state = 2 WHERE no = OLD.file_no
    AND NOT EXISTS (SELECT 1 FROM media WHERE mail_no = media_file.no)
    AND NOT EXISTS (SELECT 1 FROM media WHERE full_no = media_file.no)
    AND NOT EXISTS (SELECT 1 FROM attachment WHERE file_no = media_file.no);
END;

CREATE TRIGGER client_without_keepers AFTER DELETE ON client BEGIN
  DELETE FROM keeper WHERE record = OLD.id;
END;

CREATE TRIGGER deleted_endpoint_without_keepers AFTER DELETE ON deleted_endpoint
  WHEN NOT EXISTS (SELECT 1 FROM webhook_endpoint WHERE id = OLD.id) BEGIN
  DELETE FROM keeper WHERE record = OLD.id;
END;

CREATE TRIGGER import_image_gone AFTER DELETE ON import_chunk WHEN OLD.kind = 8 BEGIN
  UPDATE import_job SET post_bytes = post_bytes - octet_length(OLD.data) WHERE id = OLD.import_id;
END;

CREATE TRIGGER import_post_gone AFTER DELETE ON import_post BEGIN
  UPDATE import_job SET post_bytes = post_bytes - octet_length(OLD.body) WHERE id = OLD.import_id;
END;

CREATE TRIGGER imported_issue_goes AFTER DELETE ON issue WHEN OLD.campaign_no < 0 BEGIN
  DELETE FROM imported_issue WHERE issue_no = OLD.no;
END;

CREATE TRIGGER issue_gone AFTER DELETE ON issue BEGIN
  DELETE FROM issue_text WHERE issue_no = OLD.no;
  DELETE FROM issue_search WHERE rowid = OLD.no;
END;

CREATE TRIGGER issue_text_add AFTER INSERT ON issue_text BEGIN
  INSERT OR REPLACE INTO issue_search (rowid, title, words, place)
    SELECT i.no, i.title, NEW.words, 't' || replace(l.tenant_id, '-', '') || ' l' || replace(l.id, '-', '')
    FROM issue i JOIN list l ON l.id = i.list_id WHERE i.no = NEW.issue_no;
END;

CREATE TRIGGER issue_text_update AFTER UPDATE ON issue_text BEGIN
  INSERT OR REPLACE INTO issue_search (rowid, title, words, place)
    SELECT i.no, i.title, NEW.words, 't' || replace(l.tenant_id, '-', '') || ' l' || replace(l.id, '-', '')
    FROM issue i JOIN list l ON l.id = i.list_id WHERE i.no = NEW.issue_no;
END;

CREATE TRIGGER media_gone AFTER DELETE ON media BEGIN
  UPDATE media_file SET state = 2 WHERE no IN (OLD.mail_no, OLD.full_no)
    AND NOT EXISTS (SELECT 1 FROM media WHERE mail_no = media_file.no)
    AND NOT EXISTS (SELECT 1 FROM media WHERE full_no = media_file.no)
    AND NOT EXISTS (SELECT 1 FROM attachment WHERE file_no = media_file.no);
END;

CREATE TRIGGER model_gone AFTER DELETE ON model BEGIN
  UPDATE model_file SET state = 2 WHERE no = OLD.file_no;
END;

CREATE TRIGGER model_search_add AFTER INSERT ON model BEGIN
  INSERT INTO model_search (rowid, name, audience)
    VALUES (NEW.no, NEW.name, iif(NEW.visibility = 'public', 'p ', '') || 'o' || replace(NEW.owner_id, '-', ''));
END;

CREATE TRIGGER model_search_delete AFTER DELETE ON model BEGIN
  DELETE FROM model_search WHERE rowid = OLD.no;
END;

CREATE TRIGGER model_search_update AFTER UPDATE OF name, visibility ON model BEGIN
  INSERT OR REPLACE INTO model_search (rowid, name, audience)
    SELECT m.no, m.name, iif(m.visibility = 'public', 'p ', '') || 'o' || replace(m.owner_id, '-', '')
      || coalesce((SELECT ' ' || group_concat(s.holder, ' ') FROM share s WHERE s.model_no = m.no), '')
    FROM model m WHERE m.no = NEW.no;
END;

CREATE TRIGGER model_file_added AFTER INSERT ON model_file WHEN NEW.size <> 0 BEGIN
  UPDATE model_total SET bytes = bytes + NEW.size;
END;

CREATE TRIGGER model_file_gone AFTER UPDATE OF state ON model_file WHEN NEW.state = 2 AND OLD.state <> 2 BEGIN
  UPDATE model_usage SET bytes = bytes - NEW.size WHERE owner_id = NEW.owner_id;
END;

CREATE TRIGGER model_file_grown AFTER UPDATE OF size ON model_file WHEN NEW.size <> OLD.size BEGIN
  UPDATE model_total SET bytes = bytes + NEW.size - OLD.size;
END;

CREATE TRIGGER model_file_removed AFTER DELETE ON model_file WHEN OLD.size <> 0 BEGIN
  UPDATE model_total SET bytes = bytes - OLD.size;
END;

CREATE TRIGGER poll_answer_added AFTER INSERT ON poll_answer BEGIN
  UPDATE poll_option SET answers = answers + 1 WHERE poll_no = NEW.poll_no AND number = NEW.option;
END;

CREATE TRIGGER poll_answer_changed AFTER UPDATE OF option ON poll_answer WHEN NEW.option <> OLD.option BEGIN
  UPDATE poll_option SET answers = answers - 1 WHERE poll_no = OLD.poll_no AND number = OLD.option;
  UPDATE poll_option SET answers = answers + 1 WHERE poll_no = NEW.poll_no AND number = NEW.option;
END;

CREATE TRIGGER poll_answer_removed AFTER DELETE ON poll_answer BEGIN
  UPDATE poll_option SET answers = answers - 1 WHERE poll_no = OLD.poll_no AND number = OLD.option;
END;

CREATE TRIGGER campaign_follows_job AFTER UPDATE OF status ON send_job WHEN NEW.status <> OLD.status BEGIN
  UPDATE campaign SET revision = revision + 1, state = CASE
      WHEN NEW.status = 'running' THEN 'sending'
      WHEN NEW.status = 'completed' OR EXISTS (SELECT 1 FROM send_job WHERE campaign_id = NEW.campaign_id AND recipients > 0)
        THEN 'sent'
      WHEN NEW.status = 'cancelled' AND approved_by_send = 1 THEN 'draft'
      ELSE 'approved' END
  WHERE job_no = NEW.no AND job_no <> 0 AND state IN ('scheduled', 'sending');
  UPDATE campaign SET approved_version = 0, copy_id = ''
  WHERE job_no = NEW.no AND job_no <> 0 AND state = 'draft';
END;

CREATE TRIGGER issue_follows_job AFTER UPDATE OF status ON send_job WHEN NEW.status = 'running' AND OLD.status <> 'running' BEGIN
  UPDATE issue SET sent_at = NEW.started_at WHERE sent_at = 0 AND campaign_no IN (SELECT no FROM campaign WHERE job_no = NEW.no);
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

CREATE TRIGGER subscriber_without_answers AFTER DELETE ON subscriber
  WHEN NOT EXISTS (SELECT 1 FROM subscription WHERE list_id = OLD.list_id AND id = OLD.id) BEGIN
  DELETE FROM poll_answer WHERE list_id = OLD.list_id AND subscriber_id = OLD.id;
END;

CREATE TRIGGER subscriber_without_tags AFTER DELETE ON subscriber
  WHEN NOT EXISTS (SELECT 1 FROM subscription WHERE list_id = OLD.list_id AND id = OLD.id) BEGIN
  DELETE FROM tagged WHERE list_id = OLD.list_id AND id = OLD.id;
END;

CREATE TRIGGER subscription_without_answers AFTER DELETE ON subscription
  WHEN NOT EXISTS (SELECT 1 FROM subscriber WHERE list_id = OLD.list_id AND id = OLD.id) BEGIN
  DELETE FROM poll_answer WHERE list_id = OLD.list_id AND subscriber_id = OLD.id;
END;

CREATE TRIGGER subscription_without_tags AFTER DELETE ON subscription
  WHEN NOT EXISTS (SELECT 1 FROM subscriber WHERE list_id = OLD.list_id AND id = OLD.id) BEGIN
  DELETE FROM tagged WHERE list_id = OLD.list_id AND id = OLD.id;
END;

CREATE TRIGGER user_shares_gone AFTER DELETE ON user BEGIN
  DELETE FROM share WHERE user_id = OLD.id AND user_id <> '';
  DELETE FROM share WHERE email_key = OLD.email_key AND email_key <> '';
END;

CREATE TRIGGER webhook_endpoint_without_keepers AFTER DELETE ON webhook_endpoint
  WHEN NOT EXISTS (SELECT 1 FROM deleted_endpoint WHERE id = OLD.id) BEGIN
  DELETE FROM keeper WHERE record = OLD.id;
END;

INSERT INTO model_total (id, bytes) VALUES (1, 0);
