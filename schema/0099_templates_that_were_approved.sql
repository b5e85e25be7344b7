-- Whoever has changed a template or a theme is a writer of campaigns in it, until someone else has approved one.
ALTER TABLE template ADD COLUMN audit_seen INTEGER NOT NULL DEFAULT 0; -- newest entry of audit when that happened last
ALTER TABLE theme ADD COLUMN audit_seen INTEGER NOT NULL DEFAULT 0;    -- as of template

-- Approvals of before vouch for the templates and themes of their tenants as they were.
UPDATE template SET audit_seen = coalesce((SELECT max(audit_seen) FROM campaign
  WHERE tenant_id = template.tenant_id AND last_approved > 0), 0);
UPDATE theme SET audit_seen = coalesce((SELECT max(audit_seen) FROM campaign
  WHERE tenant_id = theme.tenant_id AND last_approved > 0), 0);
