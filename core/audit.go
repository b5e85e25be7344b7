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

// AuditEntry is an entry of the audit log. Actor is "user:<id>", "client:<id>", "command:<account name>", "daemon" or
// AnotherTenant.
type AuditEntry struct {
	ID       int64        `db:"id" json:"-"`
	At       Instant      `db:"at" json:"at"`
	Actor    string       `db:"actor" json:"actor"`
	Origin   string       `db:"origin" json:"origin"`                 // address of the request, or CommandLine; empty: no longer known
	ClientID string       `db:"client_id" json:"client_id,omitempty"` // client that the user acted through; empty: none
	Action   string       `db:"action" json:"action"`
	Object   string       `db:"object" json:"object"`
	TenantID string       `db:"tenant_id" json:"tenant_id"`
	Changes  AuditChanges `db:"detail" json:"changes"` // changes of the record, by field

	// current names; absent if the record is deleted, has no name or is hidden from the caller
	ActorName  string `db:"-" json:"actor_name,omitempty"`
	ClientName string `db:"-" json:"client_name,omitempty"`
	ObjectName string `db:"-" json:"object_name,omitempty"`
	CampaignID string `db:"-" json:"campaign_id,omitempty"` // of a campaign or send job
	// the record is deleted, and removed permanently later
	ObjectDeleted bool `db:"-" json:"object_deleted,omitempty"`
}

// AnotherTenant replaces an actor in a tenant's entries if the actor acts only for other tenants, whose names are
// confidential.
const AnotherTenant = "another tenant"

// CommandLine is the origin of changes made by commands.
const CommandLine = "command line"

// AuditChanges is a JSON object that maps each changed field to an AuditChange. If it is empty, it is encoded as {}.
type AuditChanges string

// MarshalJSON returns the object.
func (c AuditChanges) MarshalJSON() ([]byte, error) { return []byte(cmp.Or(string(c), "{}")), nil }

// UnmarshalJSON stores the raw object.
func (c *AuditChanges) UnmarshalJSON(b []byte) error { *c = AuditChanges(b); return nil }

// AuditFilter selects entries of the audit log. An empty field does not filter.
type AuditFilter struct {
	TenantID string  // entries about records of this tenant
	Actor    string  // actor
	Action   string  // an action, or the noun before its dot
	Object   string  // record
	From     Instant // at or after
	Until    Instant // before
}
