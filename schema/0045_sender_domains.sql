-- Domains that tenants mail from, or want to. Those that are verified stand in tenant.domains, too.

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

-- What stands today counts as verified. The ids are UUIDs of version 7.
INSERT INTO sender_domain (id, tenant_id, domain, token, verified_by, verified_at, created_at, updated_at)
  SELECT printf('%08x-%04x-7%03x-%04x-%s', t.updated_at >> 16, t.updated_at & 65535, random() & 4095,
    32768 + (random() & 16383), lower(hex(randomblob(6)))),
    t.id, d.value, lower(hex(randomblob(16))), 'before', max(t.updated_at, 1), t.updated_at, t.updated_at
  FROM tenant AS t, json_each(t.domains) AS d
  WHERE t.deleted_at = 0
  GROUP BY t.id, d.value;
