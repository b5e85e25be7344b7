-- What a job sends is a copy of a campaign, which is never changed; the campaign itself is written on. Jobs of older
-- versions have the same id for both.

DROP INDEX campaign_head;
ALTER TABLE campaign RENAME TO campaign_copy;
ALTER TABLE send_job RENAME COLUMN campaign_id TO copy_id;
ALTER TABLE frozen_content RENAME COLUMN campaign_id TO copy_id;
ALTER TABLE send_job ADD COLUMN campaign_id TEXT NOT NULL DEFAULT '';
UPDATE send_job SET campaign_id = copy_id;

-- Name and subject without the bodies: a search of the table itself compares whole rows, bodies included.
CREATE INDEX campaign_copy_head ON campaign_copy (id, name, subject);
