package core

// Drift counts the differences between a list's member side and send side. A subscription with an undelivered event
// does not count as different.
type Drift struct {
	ListID             string `json:"list_id"`
	MemberActive       int64  `json:"member_active" about:"Active subscriptions of the member service"`
	MemberUnsubscribed int64  `json:"member_unsubscribed" about:"Ended subscriptions of the member service"`
	MemberPending      int64  `json:"member_pending" about:"Subscriptions of the member service that wait for confirmation"`
	SendActive         int64  `json:"send_active" about:"Active subscribers of the send service, even if blocked"`
	SendUnsubscribed   int64  `json:"send_unsubscribed" about:"Unsubscribed subscribers of the send service"`
	SendBlocked        int64  `json:"send_blocked" about:"Blocked subscribers of the send service"`

	Missing   int64 `json:"missing" about:"Active subscriptions that the send service doesn't have"`
	Stopped   int64 `json:"stopped" about:"Active subscriptions that are unsubscribed in the send service"`
	Running   int64 `json:"running" about:"Ended subscriptions that are active in the send service"`
	Unknown   int64 `json:"unknown" about:"Active in the send service, but never confirmed or unknown in the member service"`
	Different int64 `json:"different" about:"Active in both services, with different fields or another spelling of the address"`
	InFlight  int64 `json:"in_flight" about:"Subscriptions that differ only until a waiting event is delivered"`

	SyncOpen bool          `json:"sync_open" about:"Whether a full sync of the list is running or waiting"`
	FedBy    string        `json:"fed_by" about:"ID of another webhook source that feeds the list; such a list isn't compared"`
	Sample   []DriftSample `json:"sample,omitempty" about:"Some of the subscriptions that differ"`
}

// DriftSample is a subscription that differs between the two sides.
type DriftSample struct {
	Email  string `db:"email" json:"email"`
	What   string `db:"what" json:"what" about:"How it differs: missing, stopped, running, unknown or different"`
	Member string `db:"member" json:"member" about:"Status in the member service; empty: no record"`
	Send   string `db:"send" json:"send" about:"Status or block in the send service; empty: no record"`
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
