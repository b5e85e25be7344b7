-- Links of mails that are out may lead elsewhere than they were written.

ALTER TABLE link ADD COLUMN target TEXT NOT NULL DEFAULT ''; -- empty: to url
ALTER TABLE link ADD COLUMN mended_at INTEGER NOT NULL DEFAULT 0;
