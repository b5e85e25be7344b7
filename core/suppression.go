package core

// KindDisabled is the kind of an address that the member service has switched off. The other kinds are the send side's
// blocks: StatusBounced, StatusComplaint and StatusSuppressed. What is left of an erased address has these kinds too,
// or KindLeft.
const KindDisabled = "disabled"

// KindLeft is the kind of an erased address: no import brings it to a list of the tenant. The person may subscribe
// again, which counts for the lists that they confirm.
const KindLeft = "left"

// Suppressed is one thing that stands against mailing an address, on the member's side or on the send side.
type Suppressed struct {
	Email    string `db:"email" json:"email"` // folded
	Kind     string `db:"kind" json:"kind"`
	TenantID string `db:"tenant_id" json:"tenant_id"` // empty: everywhere
	// of a block that one list's subscriber has; empty: of all lists
	ListID     string  `db:"list_id" json:"list_id"`
	Reason     string  `db:"reason" json:"reason"`
	DisabledBy string  `db:"disabled_by" json:"disabled_by"`
	OccurredAt Instant `db:"occurred_at" json:"occurred_at"`
}
