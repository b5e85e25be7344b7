package core

import (
	"cmp"
)

// AuditChange is how a value of a record has changed. A value that says nothing is null; a secret, or a word about a
// person, is masked.
type AuditChange struct {
	Before any `json:"before"`
	After  any `json:"after"`
}

// AuditEntry is an entry of the audit trail. Actor is "user:<id>", "client:<id>", "command:<name of the account>",
// "daemon" or AnotherTenant.
type AuditEntry struct {
	ID       int64        `db:"id" json:"-"`
	At       Instant      `db:"at" json:"at"`
	Actor    string       `db:"actor" json:"actor"`
	Origin   string       `db:"origin" json:"origin"`                 // address of the request, or CommandLine; empty: not known any more
	ClientID string       `db:"client_id" json:"client_id,omitempty"` // that the user acted through; empty: none
	Action   string       `db:"action" json:"action"`
	Object   string       `db:"object" json:"object"`
	TenantID string       `db:"tenant_id" json:"tenant_id"`
	Changes  AuditChanges `db:"detail" json:"changes"` // of the record, by its field

	// as they are called now; absent: they are gone, have no name, or it isn't the caller's to see
	ActorName  string `db:"-" json:"actor_name,omitempty"`
	ClientName string `db:"-" json:"client_name,omitempty"`
	ObjectName string `db:"-" json:"object_name,omitempty"`
	CampaignID string `db:"-" json:"campaign_id,omitempty"` // of a campaign or send job
	// the record is deleted, and goes for good later
	ObjectDeleted bool `db:"-" json:"object_deleted,omitempty"`
}

// AnotherTenant stands in a tenant's entries for an actor that acts for other tenants only: which ones, is their
// affair.
const AnotherTenant = "another tenant"

// CommandLine is the origin of what commands change.
const CommandLine = "command line"

// AuditChanges is the JSON object of what has changed, an AuditChange by field; empty: nothing is told. It is written
// as {} then.
type AuditChanges string

// MarshalJSON writes the object.
func (c AuditChanges) MarshalJSON() ([]byte, error) { return []byte(cmp.Or(string(c), "{}")), nil }

// UnmarshalJSON keeps the object as it is.
func (c *AuditChanges) UnmarshalJSON(b []byte) error { *c = AuditChanges(b); return nil }

// AuditFilter says which entries of the audit trail are read. Empty fields filter nothing.
type AuditFilter struct {
	TenantID string  // entries about records of one tenant
	Actor    string  // who
	Action   string  // what: an action, or the noun before its dot
	Object   string  // of which record
	From     Instant // at or after
	Until    Instant // before
}
