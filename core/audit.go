package core

import (
	"cmp"
)

// AuditChange holds a field's values before and after a change. An empty value is null. Secrets and data about people
// are masked.
type AuditChange struct {
	Before any `json:"before"`
	After  any `json:"after"`
}

// AuditEntry is an entry in the audit log. Actor is "user:<id>", "client:<id>", "command:<account name>", "daemon" or
// AnotherTenant.
type AuditEntry struct {
	ID       int64        `db:"id" json:"-"`
	At       Instant      `db:"at" json:"at" about:"Time of the change"`
	Actor    string       `db:"actor" json:"actor" about:"Who made the change: user:ID, client:ID, command:NAME, daemon or another tenant"`
	Origin   string       `db:"origin" json:"origin" about:"IP address of the request, or command line; empty: unknown, or hidden from you"`
	ClientID string       `db:"client_id" json:"client_id,omitempty" about:"ID of the client that the user acted through; absent: none"`
	Action   string       `db:"action" json:"action" about:"What was done, such as list.update"`
	Object   string       `db:"object" json:"object" about:"ID of the changed record"`
	TenantID string       `db:"tenant_id" json:"tenant_id"`
	Changes  AuditChanges `db:"detail" json:"changes" about:"Changed fields, each with its value before and after"`

	ActorName     string `db:"-" json:"actor_name,omitempty" about:"Current name of the actor; absent if deleted, without a name, or hidden from you"`
	ClientName    string `db:"-" json:"client_name,omitempty" about:"Current name of the client; absent if deleted or hidden from you"`
	ObjectName    string `db:"-" json:"object_name,omitempty" about:"Current name of the record; absent if deleted, without a name, or hidden from you"`
	CampaignID    string `db:"-" json:"campaign_id,omitempty" about:"Campaign that the change is about, directly or through its send job"`
	ObjectDeleted bool   `db:"-" json:"object_deleted,omitempty" about:"Whether the record is deleted and will be removed permanently"`
}

// AnotherTenant replaces the name of an actor from another tenant in a tenant's audit log, because tenants must not
// learn about each other.
const AnotherTenant = "another tenant"

// CommandLine is the origin that the audit log shows for changes made by commands.
const CommandLine = "command line"

// AuditChanges is a JSON object that maps each changed field to an AuditChange. If it is empty, it is encoded as {}.
type AuditChanges string

// MarshalJSON returns the object.
func (c AuditChanges) MarshalJSON() ([]byte, error) { return []byte(cmp.Or(string(c), "{}")), nil }

// UnmarshalJSON stores the raw object.
func (c *AuditChanges) UnmarshalJSON(b []byte) error { *c = AuditChanges(b); return nil }

// AuditFilter selects entries in the audit log. An empty field matches every entry.
type AuditFilter struct {
	TenantID string  // entries about records of this tenant
	Actor    string  // actor
	Action   string  // an action, or the noun before its dot
	Object   string  // record
	From     Instant // at or after
	Until    Instant // before
}
