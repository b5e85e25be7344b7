package store

import (
	"context"

	"newsletterd/core"
)

// OutboxEvent is an event on its way. Events of one subscription are due in the order of their ids.
type OutboxEvent struct {
	ID             int64        `db:"id" json:"id"`
	EventID        string       `db:"event_id" json:"event_id"`
	EventType      string       `db:"event_type" json:"event_type"`
	TenantID       string       `db:"tenant_id" json:"tenant_id"`
	ListID         string       `db:"list_id" json:"list_id"`
	SubscriptionID string       `db:"subscription_id" json:"subscription_id"`
	Body           string       `db:"body" json:"-"`
	OccurredAt     core.Instant `db:"occurred_at" json:"occurred_at"`
	DueAt          core.Instant `db:"due_at" json:"due_at"`
	Tries          int          `db:"tries" json:"tries"`
	DeadAt         core.Instant `db:"dead_at" json:"dead_at"` // 0: not a dead letter
	LastError      string       `db:"last_error" json:"last_error"`
}

const outboxColumns = "id, event_id, event_type, tenant_id, list_id, subscription_id, body, occurred_at, due_at, tries, dead_at, last_error"

// addEvent writes the event of a change. It is due no earlier than the events of the same subscription that
// still wait: this keeps them in order without a look at each other when they are read.
func (tx *Tx) addEvent(tenantID string, sub *core.Subscription, c *core.Change, now core.Instant) error {
	e := core.Event{
		ID: core.NewID(), Type: c.EventType, TenantID: tenantID, ListID: sub.ListID, OccurredAt: c.OccurredAt,
		Subscriber: core.EventSubscriber{ID: sub.ID, Email: sub.Email, Status: sub.Status, Preferences: sub.Preferences.OrEmpty()},
	}
	tx.kick(TopicOutbox)
	_, err := tx.exec(`INSERT INTO outbox (event_id, event_type, tenant_id, list_id, subscription_id, body, occurred_at, due_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, max(?8, (SELECT coalesce(max(due_at), 0) FROM outbox
			WHERE list_id = ?4 AND subscription_id = ?5 AND dead_at = 0)))`,
		e.ID, e.Type, e.TenantID, e.ListID, sub.ID, string(e.AppendJSON(nil)), int64(e.OccurredAt), int64(now))
	return err
}

// DueEvents reads what may be delivered now, in order. The one process that delivers remembers what it holds, so
// a claim needs no write; what it holds is read again until its result is recorded.
func (s *Store) DueEvents(ctx context.Context, now core.Instant, limit int) ([]OutboxEvent, error) {
	var e []OutboxEvent
	err := s.all(ctx, &e, "SELECT "+outboxColumns+` FROM outbox
		WHERE dead_at = 0 AND due_at <= ? ORDER BY due_at, id LIMIT ?`, int64(now), limit)
	return e, err
}

// NextEvent is when the next waiting event behind now is due; 0: there is none.
func (s *Store) NextEvent(ctx context.Context, now core.Instant) (core.Instant, error) {
	var at core.Instant
	err := s.get(ctx, &at, "SELECT coalesce(min(due_at), 0) FROM outbox WHERE dead_at = 0 AND due_at > ?", int64(now))
	return at, err
}

// EventResult is what became of one try to deliver an event: it is done, dead, or tried again at RetryAt.
type EventResult struct {
	Event   *OutboxEvent
	Done    bool
	Dead    bool
	RetryAt core.Instant
	Reason  string // of a failure
}

// FinishEvents records results. An event that waits holds back the later ones of its subscription; a dead one
// does not.
func (s *Store) FinishEvents(ctx context.Context, results []EventResult, now core.Instant) error {
	return s.update(ctx, func(tx *Tx) error {
		for _, r := range results {
			if err := tx.finishEvent(r, now); err != nil {
				return err
			}
		}
		return nil
	})
}

func (tx *Tx) finishEvent(r EventResult, now core.Instant) error {
	switch {
	case r.Done:
		_, err := tx.exec("DELETE FROM outbox WHERE id = ?", r.Event.ID)
		return err
	case r.Dead:
		_, err := tx.exec("UPDATE outbox SET tries = tries + 1, dead_at = ?, last_error = ? WHERE id = ?", int64(now), r.Reason, r.Event.ID)
		return err
	}
	_, err := tx.exec("UPDATE outbox SET tries = tries + 1, due_at = ?, last_error = ? WHERE id = ?", int64(r.RetryAt), r.Reason, r.Event.ID)
	if err != nil {
		return err
	}
	_, err = tx.exec(`UPDATE outbox SET due_at = max(due_at, ?) WHERE list_id = ? AND subscription_id = ? AND dead_at = 0 AND id > ?`,
		int64(r.RetryAt), r.Event.ListID, r.Event.SubscriptionID, r.Event.ID)
	return err
}

// WakeEvents makes every event that waits for a later try due now, at most limit of them at once: the receiver
// is back. It returns how many moved.
func (s *Store) WakeEvents(ctx context.Context, now core.Instant, limit int) (n int64, err error) {
	err = s.bulk(ctx, func(tx *Tx) error {
		tx.kick(TopicOutbox)
		n, err = tx.exec(`UPDATE outbox SET due_at = ?1 WHERE id IN
			(SELECT id FROM outbox WHERE dead_at = 0 AND due_at > ?1 ORDER BY due_at, id LIMIT ?2)`, int64(now), limit)
		return err
	})
	return n, err
}

// WaitingEvent is the event that has waited longest for a later try; core.ErrNotFound: none waits.
func (s *Store) WaitingEvent(ctx context.Context, now core.Instant) (*OutboxEvent, error) {
	var e OutboxEvent
	err := s.get(ctx, &e, "SELECT "+outboxColumns+" FROM outbox WHERE dead_at = 0 AND due_at > ? ORDER BY due_at, id LIMIT 1", int64(now))
	return &e, err
}

// OutboxState counts what is in the outbox.
type OutboxState struct {
	Waiting  int64        `db:"waiting" json:"waiting"`
	Dead     int64        `db:"dead" json:"dead"`
	OldestAt core.Instant `db:"oldest_at" json:"oldest_at"` // occurred_at of the event that waits longest; 0: none
}

// OutboxState reads the counts.
func (s *Store) OutboxState(ctx context.Context) (OutboxState, error) {
	var o OutboxState
	err := s.get(ctx, &o, `SELECT count(*) FILTER (WHERE dead_at = 0) AS waiting, count(*) FILTER (WHERE dead_at > 0) AS dead,
		coalesce(min(occurred_at) FILTER (WHERE dead_at = 0), 0) AS oldest_at FROM outbox`)
	return o, err
}

// OutboxEvents reads a page of the outbox by id; dead: the dead letters alone.
func (s *Store) OutboxEvents(ctx context.Context, dead bool, afterID int64, limit int) ([]OutboxEvent, error) {
	var e []OutboxEvent
	err := s.all(ctx, &e, "SELECT "+outboxColumns+" FROM outbox WHERE id > ? AND (dead_at > 0 OR NOT ?) ORDER BY id LIMIT ?", afterID, dead, limit)
	return e, err
}

// RetryEvent makes an event due now, with those of the same subscription that come before it. A dead letter lives
// again: the receiver's rule about stale events makes one that comes late harmless.
func (s *Store) RetryEvent(ctx context.Context, id int64, now core.Instant) error {
	return s.update(ctx, func(tx *Tx) error {
		var e struct {
			ListID         string `db:"list_id"`
			SubscriptionID string `db:"subscription_id"`
		}
		if err := tx.get(&e, "SELECT list_id, subscription_id FROM outbox WHERE id = ?", id); err != nil {
			return err
		}
		tx.kick(TopicOutbox)
		if _, err := tx.exec("UPDATE outbox SET dead_at = 0, due_at = ? WHERE id = ?", int64(now), id); err != nil {
			return err
		}
		_, err := tx.exec("UPDATE outbox SET due_at = min(due_at, ?) WHERE list_id = ? AND subscription_id = ? AND dead_at = 0 AND id < ?",
			int64(now), e.ListID, e.SubscriptionID, id)
		return err
	})
}
