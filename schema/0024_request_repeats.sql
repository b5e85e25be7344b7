-- Requests to subscribe that no mail goes out for share a row: one a list, address and generation within a day.

ALTER TABLE confirm_token ADD COLUMN shared INTEGER NOT NULL DEFAULT 0; -- 1: the next request takes its place; answered tokens carry their own

-- The requests of an address to a list that had no mail: they are counted, and the newest is found.
CREATE INDEX mail_left_out ON mail (email_key, list_id, created_at) WHERE state = 3;
