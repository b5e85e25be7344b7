-- Devices and models have scopes of their own. A client that stands at the default of before may ask for them; its users
-- are asked for their consent then, and its sign-ins keep the scopes that they have.
UPDATE client SET scopes = '["openid","profile","email","offline_access","devices","models.read","models.write"]'
WHERE scopes = '["openid","profile","email","offline_access"]';

-- A sign-in by password without a client, or at a first-party client, has what its user has, and goes on having it.
UPDATE family SET scope = 'openid profile email offline_access devices models.read models.write' || substr(scope, 36)
WHERE kind = 'password' AND (scope = 'openid profile email offline_access' OR scope LIKE 'openid profile email offline\_access %' ESCAPE '\')
  AND (client_id = 'newsletterd' OR client_id IN (SELECT id FROM client WHERE first_party = 1));
