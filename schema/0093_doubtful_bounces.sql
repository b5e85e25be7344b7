-- When a reply first said that the address probably does not exist; 0: none has, or a mail was delivered since.
ALTER TABLE subscriber ADD COLUMN doubted_at INTEGER NOT NULL DEFAULT 0;
