package core

// WebhookClient is a sender of signed webhooks. Its secret is answered once, when it is made.
type WebhookClient struct {
	ID         string  `db:"id" json:"id"`
	TenantID   string  `db:"tenant_id" json:"tenant_id"` // empty: it speaks for every tenant
	Name       string  `db:"name" json:"name"`
	DisabledAt Instant `db:"disabled_at" json:"disabled_at"`
	CreatedAt  Instant `db:"created_at" json:"created_at"`
	UpdatedAt  Instant `db:"updated_at" json:"updated_at"`
}

// MaxWebhookClients is how many senders of signed webhooks a tenant may have.
const MaxWebhookClients = 20

// WebhookSender is a webhook client with its keys, opened: the newest first, a second one while a secret is replaced.
// It is cached; never change one.
type WebhookSender struct {
	WebhookClient
	Keys [][]byte
}
