-- Themes of tenants: how mails made of Markdown and blocks look.

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
  updated_at     INTEGER NOT NULL,
  UNIQUE (tenant_id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX theme_tenant ON theme (tenant_id, id);
