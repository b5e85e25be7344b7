-- Reviews: who was asked by mail, and those that are not approved when it was wanted.

ALTER TABLE campaign ADD COLUMN review_asked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE campaign ADD COLUMN review_missed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX campaign_review ON campaign (review_wanted_at)
  WHERE state = 'in_review' AND review_missed = 0 AND review_wanted_at > 0;
