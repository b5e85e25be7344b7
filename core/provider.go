package core

// Provider is a mail provider that reports delivery events. Its name is the last part of its webhook path.
type Provider struct {
	Name       string  `db:"name" json:"name"`
	Kind       string  `db:"kind" json:"kind"`
	TenantID   string  `db:"tenant_id" json:"tenant_id"` // empty: may report for every tenant
	Topics     Strings `db:"topics" json:"topics"`       // of kind ses
	DisabledAt Instant `db:"disabled_at" json:"disabled_at"`
	CreatedAt  Instant `db:"created_at" json:"created_at"`
	UpdatedAt  Instant `db:"updated_at" json:"updated_at"`
}

// ProviderSecrets is a provider with its secrets in plain text, newest first. There are two secrets while one is being
// replaced. A cache shares ProviderSecrets, so callers must not change them.
type ProviderSecrets struct {
	Provider
	Secrets []string
}

// LastEvent is the last accepted event from a mail provider.
type LastEvent struct {
	Type string  `db:"event_type" json:"event_type" about:"Type of the event"`
	At   Instant `db:"received_at" json:"received_at" about:"Time when the event arrived"`
}
