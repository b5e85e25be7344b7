package core

// PendingDisable is an address that complained, on its way to the member service's disable operation; or, with a list,
// one that left a list of a member service elsewhere by the link of a mail.
type PendingDisable struct {
	ID         int64   `db:"id"`
	TenantID   string  `db:"tenant_id"` // whose mail it complained of
	ListID     string  `db:"list_id"`   // that it left; empty: it complained
	Email      string  `db:"email"`
	Reason     string  `db:"reason"`
	OccurredAt Instant `db:"occurred_at"`
	CreatedAt  Instant `db:"created_at"`
	Tries      int     `db:"tries"`
}
