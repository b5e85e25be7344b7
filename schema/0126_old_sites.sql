-- Addresses of sites at other tools, for links and pictures of posts that lack them and for links between posts.
ALTER TABLE import_job ADD COLUMN relative_posts INTEGER NOT NULL DEFAULT 0; -- posts with such links and pictures
ALTER TABLE import_job ADD COLUMN site TEXT NOT NULL DEFAULT ''; -- empty: unknown
ALTER TABLE imported_issue ADD COLUMN site TEXT NOT NULL DEFAULT '';
