-- Name and email claims in the ID token, for clients that don't ask userinfo. Existing clients keep their tokens as they are.
ALTER TABLE client ADD COLUMN id_token_claims INTEGER NOT NULL DEFAULT 0;
