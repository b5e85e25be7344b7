-- Who has opened a mail or followed a link: a person, a proxy of which that can't be told, a scanner. What was counted
-- before keeps its classes: machines' openings can't be told.
ALTER TABLE engagement ADD COLUMN unclear INTEGER NOT NULL DEFAULT 0;    -- of times: by proxies that can't be told
ALTER TABLE engagement ADD COLUMN first_read INTEGER NOT NULL DEFAULT 0; -- by what may be a person; 0: never, or not noted
ALTER TABLE engagement ADD COLUMN last_read INTEGER NOT NULL DEFAULT 0;
ALTER TABLE engagement ADD COLUMN class INTEGER NOT NULL DEFAULT 0;      -- 1 scanner, 2 can't be told, 3 person; 0: see times

ALTER TABLE send_job ADD COLUMN tracked INTEGER NOT NULL DEFAULT 0;        -- 1: openings, 2: clicks
ALTER TABLE send_job ADD COLUMN people_opened INTEGER NOT NULL DEFAULT 0;  -- recipients by who has opened their mail
ALTER TABLE send_job ADD COLUMN unclear_opened INTEGER NOT NULL DEFAULT 0;
ALTER TABLE send_job ADD COLUMN scanner_opened INTEGER NOT NULL DEFAULT 0;
UPDATE send_job SET people_opened = opened - machine_opened, unclear_opened = machine_opened,
	tracked = coalesce((SELECT track_open + 2 * track_click FROM campaign_copy WHERE id = send_job.copy_id), 0);
