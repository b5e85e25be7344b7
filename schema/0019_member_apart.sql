-- A member service elsewhere is told of those who left by the link of a mail: their list. Empty: disable the address.

ALTER TABLE disable_request ADD COLUMN list_id TEXT NOT NULL DEFAULT '';
