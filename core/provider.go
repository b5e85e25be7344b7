package core

// Provider is a mail provider that reports what became of mails. Its name is the last part of its webhook's address.
type Provider struct {
	Name       string  `db:"name" json:"name"`
	Kind       string  `db:"kind" json:"kind"`
	TenantID   string  `db:"tenant_id" json:"tenant_id"` // empty: it may report for every tenant
	Topics     Strings `db:"topics" json:"topics"`       // of kind ses
	DisabledAt Instant `db:"disabled_at" json:"disabled_at"`
	CreatedAt  Instant `db:"created_at" json:"created_at"`
	UpdatedAt  Instant `db:"updated_at" json:"updated_at"`
}

// ProviderSecrets is a provider with its secrets as the operator wrote them, the newest first: a second one while one
// is replaced. Records are cached; never change one.
type ProviderSecrets struct {
	Provider
	Secrets []string
}

// LastEvent is the last event of a mail provider that was accepted.
type LastEvent struct {
	Type string  `db:"event_type" json:"event_type"`
	At   Instant `db:"received_at" json:"received_at"`
}
