-- What subscribers see of a list: language, wording, the fields of its form, and where its pages lead.

ALTER TABLE tenant ADD COLUMN privacy_url TEXT NOT NULL DEFAULT '';
ALTER TABLE tenant ADD COLUMN language TEXT NOT NULL DEFAULT '';
ALTER TABLE tenant ADD COLUMN mail_texts TEXT NOT NULL DEFAULT '{}'; -- JSON: wordings of mails to subscribers

ALTER TABLE list ADD COLUMN language TEXT NOT NULL DEFAULT '';
ALTER TABLE list ADD COLUMN description TEXT NOT NULL DEFAULT '';
ALTER TABLE list ADD COLUMN consent_text TEXT NOT NULL DEFAULT '';
ALTER TABLE list ADD COLUMN fields TEXT NOT NULL DEFAULT '[]'; -- JSON: what the form asks for beside the address
ALTER TABLE list ADD COLUMN mail_texts TEXT NOT NULL DEFAULT '{}';
ALTER TABLE list ADD COLUMN subscribe_redirect_url TEXT NOT NULL DEFAULT '';
ALTER TABLE list ADD COLUMN confirm_redirect_url TEXT NOT NULL DEFAULT '';
ALTER TABLE list ADD COLUMN unsubscribe_redirect_url TEXT NOT NULL DEFAULT '';

-- Every text that subscribers of a list's form have agreed to, by the version that the ledger names.
CREATE TABLE consent_text (
  list_id    TEXT NOT NULL,
  version    TEXT NOT NULL,
  text       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (list_id, version)
) STRICT, WITHOUT ROWID;

ALTER TABLE confirm_token ADD COLUMN text_version TEXT NOT NULL DEFAULT ''; -- of the request, for the ledger
ALTER TABLE consent ADD COLUMN reason TEXT NOT NULL DEFAULT '';             -- that a leaver gave
