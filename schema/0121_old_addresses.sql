-- Where imported issues were at the other tool, such as /p/engines, so that old links to the tenant's host still work.
ALTER TABLE imported_issue ADD COLUMN tenant_id TEXT NOT NULL DEFAULT '';
ALTER TABLE imported_issue ADD COLUMN old_path TEXT NOT NULL DEFAULT ''; -- empty: unknown
CREATE INDEX imported_issue_old ON imported_issue (tenant_id, old_path);
