package core

// Drift counts the differences between the member side and the send side of a list. A subscription with an
// undelivered event does not count as different.
type Drift struct {
	ListID             string `json:"list_id"`
	MemberActive       int64  `json:"member_active"`
	MemberUnsubscribed int64  `json:"member_unsubscribed"`
	MemberPending      int64  `json:"member_pending"`
	SendActive         int64  `json:"send_active"` // by the member status, even if blocked
	SendUnsubscribed   int64  `json:"send_unsubscribed"`
	SendBlocked        int64  `json:"send_blocked"`

	Missing   int64 `json:"missing"`   // active subscriptions that the send side lacks
	Stopped   int64 `json:"stopped"`   // active subscriptions that are unsubscribed on the send side
	Running   int64 `json:"running"`   // ended subscriptions that are active on the send side
	Unknown   int64 `json:"unknown"`   // active on the send side, but never confirmed or unknown on the member side
	Different int64 `json:"different"` // active on both sides, with different preferences or spelling
	InFlight  int64 `json:"in_flight"` // different, but with an undelivered event

	SyncOpen bool          `json:"sync_open"` // a full sync of the list is running or waiting
	FedBy    string        `json:"fed_by"`    // another webhook source that feeds the list, which is then not compared
	Sample   []DriftSample `json:"sample,omitempty"`
}

// DriftSample is a subscription that differs between the two sides.
type DriftSample struct {
	Email  string `db:"email" json:"email"`
	What   string `db:"what" json:"what"`     // missing, stopped, running, unknown, different
	Member string `db:"member" json:"member"` // status; empty: no record
	Send   string `db:"send" json:"send"`     // member status or block; empty: no record
}

// Total returns the number of subscriptions that differ.
func (d *Drift) Total() int64 { return d.Missing + d.Stopped + d.Running + d.Unknown + d.Different }

// Healable returns the number of differences that a full sync fixes. removes is the list's setting
// sync_removes_absent.
func (d *Drift) Healable(removes bool) int64 {
	if removes {
		return d.Total()
	}
	return d.Total() - d.Unknown
}
