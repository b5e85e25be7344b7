-- The first few readers get a mailing, and the rest after a hold.

ALTER TABLE tenant ADD COLUMN first_few INTEGER NOT NULL DEFAULT 0;
ALTER TABLE send_job ADD COLUMN first_few INTEGER NOT NULL DEFAULT 0; -- how many; 0: all at once
ALTER TABLE send_job ADD COLUMN first_until INTEGER NOT NULL DEFAULT 0; -- end of the hold; 0: the first are not through
