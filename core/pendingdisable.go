package core

// PendingDisable is a request to the member service that waits for delivery. It disables an address after a spam
// complaint or, if ListID is set, unsubscribes an address that used the link in an email of a list of another member
// service.
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
