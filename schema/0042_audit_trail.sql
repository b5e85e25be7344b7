-- The audit trail: where a change came from, and how it is read. What changed stands in detail, as JSON: by column, the
-- value before and after.

ALTER TABLE audit ADD COLUMN origin TEXT NOT NULL DEFAULT ''; -- address of the request; empty: none, or forgotten
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_tenant ON audit (tenant_id, at);
CREATE INDEX audit_actor ON audit (actor, at);
CREATE INDEX audit_object ON audit (object, at);
CREATE INDEX audit_origin ON audit (at) WHERE origin <> '';
