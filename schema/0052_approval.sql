-- The approval of a second person.

ALTER TABLE tenant ADD COLUMN approval TEXT NOT NULL DEFAULT 'none'; -- or second_person
ALTER TABLE campaign ADD COLUMN writers TEXT NOT NULL DEFAULT '[]'; -- JSON: who has saved since it was approved last
UPDATE campaign SET writers = (SELECT json_group_array(DISTINCT saved_by) FROM campaign_version
  WHERE campaign_no = campaign.no);
