-- What was sent to anyone stays sent: a retry that is stopped before it has a recipient makes no draft of its campaign.

DROP TRIGGER campaign_follows_job;
CREATE TRIGGER campaign_follows_job AFTER UPDATE OF status ON send_job WHEN NEW.status <> OLD.status BEGIN
  UPDATE campaign SET revision = revision + 1, state = CASE
      WHEN NEW.status = 'running' THEN 'sending'
      WHEN NEW.status = 'completed' OR EXISTS (SELECT 1 FROM send_job WHERE campaign_id = NEW.campaign_id AND recipients > 0)
        THEN 'sent'
      WHEN NEW.status = 'cancelled' THEN 'draft'
      ELSE 'approved' END
  WHERE job_no = NEW.no AND job_no <> 0 AND state IN ('scheduled', 'sending');
  UPDATE campaign SET approved_version = 0, copy_id = '' WHERE job_no = NEW.no AND job_no <> 0 AND state = 'draft';
END;
