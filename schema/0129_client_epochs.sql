-- A client's own tokens carry its epoch. Disabling the client counts it up, which ends them.
ALTER TABLE client ADD COLUMN epoch INTEGER NOT NULL DEFAULT 1;
