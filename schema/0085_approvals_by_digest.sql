-- An approval is of what was looked at. Who has changed the layout or the theme since the last one is in the audit trail.
ALTER TABLE campaign ADD COLUMN audit_seen INTEGER NOT NULL DEFAULT 0; -- newest entry of audit when it was approved last, or begun
ALTER TABLE campaign ADD COLUMN approved_by_send INTEGER NOT NULL DEFAULT 0; -- 1: by who sent it; undoing the send takes it back
UPDATE campaign SET audit_seen = coalesce((SELECT max(id) FROM audit
  WHERE at = (SELECT max(at) FROM audit WHERE at <= max(campaign.created_at, campaign.approved_at))), 0)
  WHERE state IN ('draft', 'in_review', 'approved', 'scheduled');
UPDATE campaign SET approved_by_send = 1 WHERE state = 'scheduled'
  AND approved_at >= (SELECT created_at FROM send_job WHERE no = campaign.job_no)
  AND (SELECT approval FROM tenant WHERE id = campaign.tenant_id) <> 'second_person';

-- Whoever looked before the digest was there has to look again.
UPDATE campaign SET revision = revision + 1 WHERE state = 'in_review';

-- A campaign that was stopped before its first mail stays approved, unless nothing but the sending has approved it.
DROP TRIGGER campaign_follows_job;
CREATE TRIGGER campaign_follows_job AFTER UPDATE OF status ON send_job WHEN NEW.status <> OLD.status BEGIN
  UPDATE campaign SET revision = revision + 1, state = CASE
      WHEN NEW.status = 'running' THEN 'sending'
      WHEN NEW.status = 'completed' OR EXISTS (SELECT 1 FROM send_job WHERE campaign_id = NEW.campaign_id AND recipients > 0)
        THEN 'sent'
      WHEN NEW.status = 'cancelled' AND approved_by_send = 1 THEN 'draft'
      ELSE 'approved' END
  WHERE job_no = NEW.no AND job_no <> 0 AND state IN ('scheduled', 'sending');
  UPDATE campaign SET approved_version = 0, copy_id = ''
  WHERE job_no = NEW.no AND job_no <> 0 AND state = 'draft';
END;
