-- Readers are named in openings and clicks only where they have agreed; the others are counted as totals.

ALTER TABLE tenant ADD COLUMN tracking_consent INTEGER NOT NULL DEFAULT 0;
