-- The OAuth client that a user acted through; empty: none. What was written before names none.
ALTER TABLE audit ADD COLUMN client_id TEXT NOT NULL DEFAULT '';
ALTER TABLE campaign_version ADD COLUMN client_id TEXT NOT NULL DEFAULT ''; -- through which it was saved
