-- What another system knows of a subscriber whom an import asks to confirm. It enters the ledger with the request, or goes with the token.
ALTER TABLE confirm_token ADD COLUMN evidence TEXT NOT NULL DEFAULT '';
