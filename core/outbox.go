package core

import "time"

// EventLife is how long newsletterd tries to deliver an event. After that, the event is a dead letter.
const EventLife = 72 * time.Hour

// OutboxEvent is an event that is waiting for delivery. A subscription's events are delivered in the order of their
// ids.
type OutboxEvent struct {
	ID             int64   `db:"id" json:"id"`
	EventID        string  `db:"event_id" json:"event_id"`
	EventType      string  `db:"event_type" json:"event_type"`
	TenantID       string  `db:"tenant_id" json:"tenant_id"`
	ListID         string  `db:"list_id" json:"list_id"`
	SubscriptionID string  `db:"subscription_id" json:"subscription_id"`
	EndpointID     string  `db:"endpoint_id" json:"endpoint_id"` // empty: the send service
	Body           string  `db:"body" json:"-"`
	OccurredAt     Instant `db:"occurred_at" json:"occurred_at"`
	DueAt          Instant `db:"due_at" json:"due_at"`
	Tries          int     `db:"tries" json:"tries"`
	DeadAt         Instant `db:"dead_at" json:"dead_at"` // 0: not a dead letter
	FailedAt       Instant `db:"failed_at" json:"-"`     // last failed attempt; 0: none
	LastError      string  `db:"last_error" json:"last_error"`
	// when the dead letter was revived; 0: never
	RevivedAt Instant `db:"revived_at" json:"revived_at"`
}

// The states of an event in the outbox. A delivered event has no row.
const (
	EventWaiting = "waiting"
	EventDead    = "dead"
)

// Since returns when the event started waiting for delivery: when it occurred or was revived.
func (e *OutboxEvent) Since() Instant { return max(e.OccurredAt, e.RevivedAt) }

// State returns EventWaiting or EventDead.
func (e *OutboxEvent) State() string {
	if e.DeadAt > 0 {
		return EventDead
	}
	return EventWaiting
}
