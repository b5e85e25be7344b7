-- The claims that an authorization request asked for by name (OpenID Connect Core section 5.5): words as "id_token.email".

ALTER TABLE code ADD COLUMN claims TEXT NOT NULL DEFAULT '';
ALTER TABLE family ADD COLUMN claims TEXT NOT NULL DEFAULT '';
