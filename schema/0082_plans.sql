-- Indexes for statements that read a table from one end to the other, or chose what to read by statistics. Those with a
-- condition that all rows meet serve the statements that state it, and change the plan of no other.
DROP INDEX outbox_dead;
CREATE INDEX outbox_dead ON outbox (dead_at, id, endpoint_id) WHERE dead_at > 0;
CREATE INDEX outbox_age ON outbox (endpoint_id, max(occurred_at, revived_at)) WHERE dead_at = 0 AND endpoint_id > '';
CREATE INDEX outbox_event ON outbox (event_id);
CREATE INDEX disabled_tenant ON disabled (tenant_id) WHERE tenant_id > '';
CREATE INDEX erased_tenant ON erased (tenant_id) WHERE tenant_id > '';
CREATE INDEX list_deleted ON list (deleted_at) WHERE deleted_at > 0;
CREATE INDEX tenant_deleted ON tenant (deleted_at) WHERE deleted_at > 0;
CREATE INDEX suppression_email ON suppression (email_key) WHERE email_key > '';
CREATE INDEX mail_failed ON mail (id) WHERE state = 2;
