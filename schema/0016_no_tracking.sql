-- Tenants whose readers are not to be tracked, whatever a job asks.

ALTER TABLE tenant ADD COLUMN no_tracking INTEGER NOT NULL DEFAULT 0;
