package core

// KindDisabled is the kind of an address that the member service blocks. The other kinds are the send side's blocks:
// StatusBounced, StatusComplaint and StatusSuppressed. The remaining record of an erased address has one of these kinds
// or KindLeft.
const KindDisabled = "disabled"

// KindLeft is the kind of an erased address that no import can add to any of the tenant's lists. The person can still
// subscribe to a list and confirm that.
const KindLeft = "left"

// Suppressed is one reason not to email an address, on the member side or the send side.
type Suppressed struct {
	Email    string `db:"email" json:"email"` // lower case
	Kind     string `db:"kind" json:"kind"`
	TenantID string `db:"tenant_id" json:"tenant_id"` // empty: all tenants
	// list on which the address is blocked; empty: all lists
	ListID     string  `db:"list_id" json:"list_id"`
	Reason     string  `db:"reason" json:"reason"`
	DisabledBy string  `db:"disabled_by" json:"disabled_by"`
	OccurredAt Instant `db:"occurred_at" json:"occurred_at"`
}
