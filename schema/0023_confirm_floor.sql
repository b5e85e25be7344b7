-- What an operator set last as a list's confirm_token: nobody else sets a looser one. Empty: the configured default. What stands there
-- counts as the operator's.
ALTER TABLE list ADD COLUMN confirm_floor TEXT NOT NULL DEFAULT '';
UPDATE list SET confirm_floor = confirm_token;
