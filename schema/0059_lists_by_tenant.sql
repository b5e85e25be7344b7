-- Lists of a tenant are read in order, not by going through the records of all.
CREATE INDEX sync_tenant ON sync (tenant_id, id);
CREATE INDEX sync_list_id ON sync (list_id, id);
CREATE INDEX sender_domain_tenant ON sender_domain (tenant_id, id);
CREATE INDEX webhook_client_tenant ON webhook_client (tenant_id, id);
