-- Keys that sign mails (DKIM). The private half is sealed as other secrets are.
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
