package core

// PendingDisable is a request to the member service that is waiting for delivery. It disables an address after a spam
// complaint. If ListID is set, it unsubscribes an address from another member service's list, after someone used the
// unsubscribe link in an email.
type PendingDisable struct {
	ID         int64   `db:"id"`
	TenantID   string  `db:"tenant_id"` // tenant that sent the email
	ListID     string  `db:"list_id"`   // list to unsubscribe from; empty: a complaint
	Email      string  `db:"email"`
	Reason     string  `db:"reason"`
	OccurredAt Instant `db:"occurred_at"`
	CreatedAt  Instant `db:"created_at"`
	Tries      int     `db:"tries"`
}
