package core

// Drift is how the member's side of a list and the send side differ. A subscription whose event is still on its way is
// not counted as different.
type Drift struct {
	ListID             string `json:"list_id"`
	MemberActive       int64  `json:"member_active"`
	MemberUnsubscribed int64  `json:"member_unsubscribed"`
	MemberPending      int64  `json:"member_pending"`
	SendActive         int64  `json:"send_active"` // by the member's word, whatever blocks them
	SendUnsubscribed   int64  `json:"send_unsubscribed"`
	SendBlocked        int64  `json:"send_blocked"`

	Missing   int64 `json:"missing"`   // active subscriptions that the send side does not have
	Stopped   int64 `json:"stopped"`   // active ones that it takes for unsubscribed
	Running   int64 `json:"running"`   // ended ones that it takes for active
	Unknown   int64 `json:"unknown"`   // it has them as active, and the member never confirmed them or has no record
	Different int64 `json:"different"` // active on both sides with other preferences or another spelling
	InFlight  int64 `json:"in_flight"` // differ while their event is on its way

	SyncOpen bool          `json:"sync_open"` // a full sync of the list is on its way
	FedBy    string        `json:"fed_by"`    // another webhook client feeds the list: it is not ours to compare
	Sample   []DriftSample `json:"sample,omitempty"`
}

// DriftSample is one subscription that differs.
type DriftSample struct {
	Email  string `db:"email" json:"email"`
	What   string `db:"what" json:"what"`     // missing, stopped, running, unknown, different
	Member string `db:"member" json:"member"` // status; empty: no record
	Send   string `db:"send" json:"send"`     // word, or the block; empty: no record
}

// Total is how many subscriptions differ.
func (d *Drift) Total() int64 { return d.Missing + d.Stopped + d.Running + d.Unknown + d.Different }

// Healable is how many of them a full sync puts right; removes: the list's setting sync_removes_absent.
func (d *Drift) Healable(removes bool) int64 {
	if removes {
		return d.Total()
	}
	return d.Total() - d.Unknown
}
