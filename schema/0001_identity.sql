-- Identity: tenants, users, clients, keys, tokens, sessions, and the queue of transactional mail.
-- Columns ending in _at are integer milliseconds UTC; 0 means never.

CREATE TABLE mark (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE purpose_key (
  name       TEXT PRIMARY KEY,
  secret     BLOB NOT NULL, -- sealed
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE signing_key (
  kid        TEXT PRIMARY KEY,
  alg        TEXT NOT NULL,
  private    BLOB NOT NULL, -- sealed PKCS #8
  created_at INTEGER NOT NULL,
  active_at  INTEGER NOT NULL, -- signs from here on
  retired_at INTEGER NOT NULL DEFAULT 0, -- signs no more
  expires_at INTEGER NOT NULL DEFAULT 0  -- leaves the key set: its last token has expired
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
) STRICT, WITHOUT ROWID;

CREATE TABLE role (
  user_id    TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  role       TEXT NOT NULL CHECK (role IN ('operator', 'tenant_admin')),
  tenant_id  TEXT NOT NULL DEFAULT '', -- of tenant_admin
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, role, tenant_id)
) STRICT, WITHOUT ROWID;

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
) STRICT, WITHOUT ROWID;
CREATE INDEX client_tenant ON client (tenant_id, id);

-- A family is one sign-in of one user at one client: its id is the sid of the tokens. Ending it ends them.
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
) STRICT, WITHOUT ROWID;
CREATE INDEX family_user ON family (user_id, client_id);
CREATE INDEX family_expires ON family (expires_at);

CREATE TABLE refresh (
  hash       BLOB PRIMARY KEY,
  family_id  TEXT NOT NULL REFERENCES family (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at    INTEGER NOT NULL DEFAULT 0,
  successor  BLOB NOT NULL DEFAULT x'' -- sealed under the used token
) STRICT, WITHOUT ROWID;
CREATE INDEX refresh_family ON refresh (family_id);
CREATE INDEX refresh_expires ON refresh (expires_at);

-- A browser in which a user is signed in here; the session's data hold its id. Ending it signs the browser out.
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
CREATE INDEX browser_user ON browser (user_id);
CREATE INDEX browser_expires ON browser (expires_at);

-- An authorization code. Redeeming it makes the family of family_id.
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
) STRICT, WITHOUT ROWID;
CREATE INDEX code_expires ON code (expires_at);

-- What a user allowed a client, shown on the account page.
CREATE TABLE client_consent (
  user_id    TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  client_id  TEXT NOT NULL,
  scope      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, client_id)
) STRICT, WITHOUT ROWID;

-- Verify and reset tokens. The mailed text is an HMAC of the id, so that no queue holds it.
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
CREATE INDEX user_token_user ON user_token (user_id, purpose);
CREATE INDEX user_token_expires ON user_token (expires_at);

-- Counters of guesses and mails, by user or address; those of remote addresses stay in memory.
CREATE TABLE throttle (
  key        TEXT PRIMARY KEY,
  count      INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX throttle_expires ON throttle (expires_at);

-- Devices and remote addresses that have signed in as a user: each has a counter of guesses of its own.
CREATE TABLE known_device (
  user_id TEXT NOT NULL REFERENCES user (id) ON DELETE CASCADE,
  key     TEXT NOT NULL,
  used_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX known_device_used ON known_device (used_at);

-- scs's own layout (sqlite3store); its tokens are hashed, its times are julian days.
CREATE TABLE sessions (
  token  TEXT PRIMARY KEY,
  data   BLOB NOT NULL,
  expiry REAL NOT NULL
) STRICT;
CREATE INDEX sessions_expiry ON sessions (expiry);

-- Transactional mail, durable until sent. params holds names and row ids, never a token.
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

-- Who changed what, by API or command line.
CREATE TABLE audit (
  id        INTEGER PRIMARY KEY,
  at        INTEGER NOT NULL,
  actor     TEXT NOT NULL,
  action    TEXT NOT NULL,
  tenant_id TEXT NOT NULL DEFAULT '',
  object    TEXT NOT NULL DEFAULT '',
  detail    TEXT NOT NULL DEFAULT ''
) STRICT;
