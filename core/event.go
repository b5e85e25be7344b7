package core

import "strconv"

// The values of event_type.
const (
	EventActivated    = "subscription.activated"
	EventUnsubscribed = "subscription.unsubscribed"
	EventPreferences  = "preferences.updated"
)

// Limits of a full sync. newsletterd sends batches of SyncBatchSize subscribers. A receiver must accept batches of
// MaxSyncBatch subscribers.
const (
	SyncBatchSize = 500
	MaxSyncBatch  = 1000

	MaxSyncBatches = 1_000_000_000 // number of batches of one sync
)

// LoopClientID is the id of the webhook client that the daemon uses to post to itself.
const LoopClientID = "loop"

// EventSubscriber is the subscriber in an event or batch, in wire form.
type EventSubscriber struct {
	ID          string      `json:"id" is:"needed" like:"uuid"`
	Email       Email       `json:"email" is:"needed"`
	Status      string      `json:"status" is:"needed" oneof:"active|unsubscribed|bounced|complaint|suppressed" about:"Status on the list"`
	Preferences Preferences `json:"preferences,omitempty"` // absent: the receiver keeps what it has
}

// Event is a subscription change that the member service reports to the send service.
type Event struct {
	ID         string          `json:"event_id" is:"needed" like:"uuid" about:"Unique ID of the event; a repeated ID is rejected"`
	Type       string          `json:"event_type" is:"needed" like:"event"`
	TenantID   string          `json:"tenant_id" is:"needed" like:"uuid"`
	ListID     string          `json:"list_id" is:"needed" like:"uuid"`
	Subscriber EventSubscriber `json:"subscriber" is:"needed"`
	OccurredAt Instant         `json:"occurred_at" is:"needed"`
}

// FullSync is one batch of a complete copy of a list. In every batch, OccurredAt is the start of the sync.
type FullSync struct {
	SyncID string `json:"sync_id" is:"needed" like:"uuid"`
	// 1 to BatchTotal
	BatchNo     int               `json:"batch_no" is:"needed" min:"1" max:"1000000000"`
	BatchTotal  int               `json:"batch_total" is:"needed" min:"1" max:"1000000000"`
	TenantID    string            `json:"tenant_id" is:"needed" like:"uuid"`
	ListID      string            `json:"list_id" is:"needed" like:"uuid"`
	Subscribers []EventSubscriber `json:"subscribers" is:"needed" max:"1000"`
	OccurredAt  Instant           `json:"occurred_at" is:"needed"`
}

// Validate checks the form of a received event. It converts ids to lower case and normalizes the address. It does not
// check whether the tenant and the list exist. Errors name the field.
func (e *Event) Validate() error {
	if err := checkIDs([]wireID{{"event_id", &e.ID}}); err != nil {
		return err
	}
	switch e.Type {
	case EventActivated, EventUnsubscribed, EventPreferences:
	default:
		return Invalidf("event_type",
			"event_type must be subscription.activated, subscription.unsubscribed or preferences.updated.")
	}
	if err := checkIDs([]wireID{{"tenant_id", &e.TenantID}, {"list_id", &e.ListID}}); err != nil {
		return err
	}
	if e.Subscriber == (EventSubscriber{}) {
		return Invalidf("subscriber", "subscriber is missing.")
	}
	if err := e.Subscriber.validate("subscriber"); err != nil {
		return err
	}
	if e.OccurredAt == 0 {
		return Invalidf("occurred_at", "occurred_at is missing.")
	}
	return nil
}

// Validate checks the form of a received batch, in the same way as Event.Validate.
func (f *FullSync) Validate() error {
	if err := checkIDs([]wireID{{"sync_id", &f.SyncID}}); err != nil {
		return err
	}
	switch {
	case f.BatchNo < 1:
		return Invalidf("batch_no", "batch_no must be an integer of at least 1.")
	case f.BatchTotal < 1, f.BatchTotal > MaxSyncBatches:
		return Invalidf("batch_total", "batch_total must be an integer from 1 to %d.", MaxSyncBatches)
	case f.BatchNo > f.BatchTotal:
		return Invalidf("batch_no", "batch_no is greater than batch_total. Send a number from 1 to batch_total.")
	}
	if err := checkIDs([]wireID{{"tenant_id", &f.TenantID}, {"list_id", &f.ListID}}); err != nil {
		return err
	}
	switch {
	case f.Subscribers == nil:
		return Invalidf("subscribers", "subscribers is missing.")
	case len(f.Subscribers) > MaxSyncBatch:
		return Invalidf("subscribers", "subscribers must have at most %d entries.", MaxSyncBatch)
	case f.OccurredAt == 0:
		return Invalidf("occurred_at", "occurred_at is missing.")
	}
	for i := range f.Subscribers {
		if err := f.Subscribers[i].validate(""); err != nil {
			e := err.(*Error)
			return e.On("subscribers[" + strconv.Itoa(i) + "]." + e.Field)
		}
	}
	return nil
}

type wireID struct {
	field string
	id    *string
}

func checkIDs(ids []wireID) error {
	for _, w := range ids {
		if *w.id == "" {
			return Invalidf(w.field, "%s is missing.", w.field)
		}
		id, ok := ParseID(*w.id)
		if !ok {
			return Invalidf(w.field, "%s must be a UUID.", w.field)
		}
		*w.id = id
	}
	return nil
}

// validate returns nil or an *Error. parent is the prefix of the error's field.
func (s *EventSubscriber) validate(parent string) error {
	if parent != "" {
		parent += "."
	}
	if err := checkIDs([]wireID{{parent + "id", &s.ID}}); err != nil {
		return err
	}
	email, err := ParseEmail(string(s.Email))
	if err != nil {
		return ErrInvalidEmail.On(parent + "email")
	}
	s.Email = email
	switch s.Status {
	case "active", "unsubscribed", "bounced", "complaint", "suppressed":
	default:
		return Invalidf(parent+"status", "%sstatus must be active, unsubscribed, bounced, complaint or suppressed.",
			parent)
	}
	return s.Preferences.Check(parent + "preferences")
}

// AppendJSON appends the wire form to b. Ids, statuses and addresses contain no characters that JSON escapes (an
// address is dot-atom ASCII), and preferences already are JSON, so no encoder is needed. An encoder would take five
// times as long for each subscriber in a full sync.
func (e *Event) AppendJSON(b []byte) []byte {
	b = appendField(b, `{"event_id":"`, e.ID)
	b = appendField(b, `,"event_type":"`, e.Type)
	b = appendField(b, `,"tenant_id":"`, e.TenantID)
	b = appendField(b, `,"list_id":"`, e.ListID)
	b = append(b, `,"subscriber":`...)
	b = e.Subscriber.appendJSON(b)
	return appendOccurred(b, e.OccurredAt)
}

// AppendJSON appends the wire form to b, like Event.AppendJSON.
func (f *FullSync) AppendJSON(b []byte) []byte {
	b = appendField(b, `{"sync_id":"`, f.SyncID)
	b = strconv.AppendInt(append(b, `,"batch_no":`...), int64(f.BatchNo), 10)
	b = strconv.AppendInt(append(b, `,"batch_total":`...), int64(f.BatchTotal), 10)
	b = appendField(b, `,"tenant_id":"`, f.TenantID)
	b = appendField(b, `,"list_id":"`, f.ListID)
	b = append(b, `,"subscribers":[`...)
	for i := range f.Subscribers {
		if i > 0 {
			b = append(b, ',')
		}
		b = f.Subscribers[i].appendJSON(b)
	}
	return appendOccurred(append(b, ']'), f.OccurredAt)
}

func (s *EventSubscriber) appendJSON(b []byte) []byte {
	b = appendField(b, `{"id":"`, s.ID)
	b = appendField(b, `,"email":"`, string(s.Email))
	b = appendField(b, `,"status":"`, s.Status)
	if s.Preferences != "" {
		b = append(append(b, `,"preferences":`...), s.Preferences...)
	}
	return append(b, '}')
}

func appendField(b []byte, opening, value string) []byte {
	return append(append(append(b, opening...), value...), '"')
}

func appendOccurred(b []byte, at Instant) []byte {
	b = at.Time().AppendFormat(append(b, `,"occurred_at":"`...), InstantLayout)
	return append(b, `"}`...)
}
