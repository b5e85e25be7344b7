-- A job may leave readers of its lists out.
ALTER TABLE send_job ADD COLUMN narrowing TEXT NOT NULL DEFAULT '';     -- JSON: whom; empty: no one
ALTER TABLE send_job ADD COLUMN expected INTEGER NOT NULL DEFAULT 0;    -- recipients, as they were counted when it was sent; 0: they were not
ALTER TABLE send_job ADD COLUMN duplicates INTEGER NOT NULL DEFAULT 0;  -- readers of a later list whom an earlier one has reached
ALTER TABLE send_job ADD COLUMN excluded INTEGER NOT NULL DEFAULT 0;    -- readers whom narrowing left out
