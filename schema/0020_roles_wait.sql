-- Anyone can register any address. A role given to an account that registered itself waits until its address is verified by mail.
-- Accounts of before that no command is known to have made count as self-registered.

ALTER TABLE user ADD COLUMN self_registered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE role ADD COLUMN pending INTEGER NOT NULL DEFAULT 0;
UPDATE user SET self_registered = 1 WHERE id NOT IN (SELECT object FROM audit WHERE action = 'user.create');
