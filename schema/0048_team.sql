-- The users with a role in a tenant, in the order of their ids: without it a team is looked for among all users.

CREATE INDEX role_tenant ON role (tenant_id, user_id);
