package core

// WebhookClient is a webhook source: a sender of signed webhooks. The secret is returned only on creation.
type WebhookClient struct {
	ID         string  `db:"id" json:"id"`
	TenantID   string  `db:"tenant_id" json:"tenant_id"` // empty: may send for every tenant
	Name       string  `db:"name" json:"name"`
	DisabledAt Instant `db:"disabled_at" json:"disabled_at"`
	CreatedAt  Instant `db:"created_at" json:"created_at"`
	UpdatedAt  Instant `db:"updated_at" json:"updated_at"`
}

// MaxWebhookClients is the maximum number of webhook sources per tenant.
const MaxWebhookClients = 20

// WebhookSender is a webhook client with its decrypted keys, newest first. There are two keys while a secret is being
// replaced. A cache shares WebhookSenders, so callers must not change them.
type WebhookSender struct {
	WebhookClient
	Keys [][]byte
}
