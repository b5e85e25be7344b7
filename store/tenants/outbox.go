package tenants

import (
	"context"
	"slices"
	"strconv"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

const outboxColumns = "id, event_id, event_type, tenant_id, list_id, subscription_id, body, occurred_at, due_at, " +
	"tries, dead_at, failed_at, last_error, revived_at, endpoint_id"

// AddEvent adds the event for a change to the outbox. The event is due no earlier than the waiting events of the same
// subscription, so the newest event is always due last. Code that reads events by due time keeps this order without
// comparing events.
func AddEvent(tx *db.Tx, tenantID string, sub *core.Subscription, c *core.Change, now core.Instant) error {
	e := EventOf(tenantID, sub, c)
	if err := PutEvent(tx, e, "", now); err != nil {
		return err
	}
	return AddToEndpoints(tx, e, now)
}

// EventOf returns the event that reports the change c of a subscription.
func EventOf(tenantID string, sub *core.Subscription, c *core.Change) *core.Event {
	return &core.Event{
		ID: core.NewID(), Type: c.EventType, TenantID: tenantID, ListID: sub.ListID, OccurredAt: c.OccurredAt,
		Subscriber: core.EventSubscriber{
			ID: sub.ID, Email: sub.Email, Status: sub.Status,
			Preferences: sub.Preferences.OrEmpty().Sendable(),
		},
	}
}

// PutEvent adds an event to the outbox for an endpoint. An empty endpointID means the send service. The event is due
// after all waiting events of the same subscription.
func PutEvent(tx *db.Tx, e *core.Event, endpointID string, now core.Instant) error {
	return putBody(tx, e, e.AppendJSON(nil), endpointID, now)
}

// putBody adds an event with the given wire form to the outbox.
func putBody(tx *db.Tx, e *core.Event, body []byte, endpointID string, now core.Instant) error {
	if endpointID == "" {
		tx.Kick(db.TopicOutbox)
	}
	_, err := tx.Exec(`INSERT INTO outbox (event_id, event_type, tenant_id, list_id, subscription_id, body,
		occurred_at, due_at, endpoint_id)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, max(?8, coalesce((SELECT due_at FROM outbox INDEXED BY outbox_subscription
			WHERE list_id = ?4 AND subscription_id = ?5 AND endpoint_id = ?9 AND dead_at = 0 ORDER BY id DESC LIMIT 1),
			0)), ?9)`,
		e.ID, e.Type, e.TenantID, e.ListID, e.Subscriber.ID, string(body), int64(e.OccurredAt), int64(now),
		endpointID)
	return err
}

// DueEvents returns the events that may be delivered now to an endpoint, in order. An empty endpointID means the send
// service. The only delivering process remembers which events it holds, so claiming them needs no write. Events that it
// holds are returned again until their result is recorded. The only error is core.ErrStorage.
func (s *Store) DueEvents(ctx context.Context, endpointID string, now core.Instant, limit int) ([]core.OutboxEvent,
	error,
) {
	var e []core.OutboxEvent
	err := s.All(ctx, &e, "SELECT "+outboxColumns+` FROM outbox INDEXED BY outbox_due
		WHERE dead_at = 0 AND endpoint_id = ? AND due_at <= ? ORDER BY due_at, id LIMIT +?`, endpointID, int64(now),
		limit)
	return e, err
}

// ChangesUnderway reports whether changes to a list are being delivered to the send service for the first time, as
// single events or as part of a full sync. It considers changes made no later than until. It ignores events whose
// delivery has failed before, because the send service may be down. The only error is core.ErrStorage.
func (s *Store) ChangesUnderway(ctx context.Context, listID string, until, now core.Instant) (yes bool, err error) {
	err = s.Get(ctx, &yes, `SELECT EXISTS (SELECT 1 FROM outbox INDEXED BY outbox_subscription
			WHERE list_id = ?1 AND endpoint_id = '' AND dead_at = 0 AND tries = 0 AND occurred_at <= ?2 AND due_at <=
			?3)
		OR EXISTS (SELECT 1 FROM sync AS y INDEXED BY sync_list WHERE y.list_id = ?1 AND y.finished_at = 0 AND
		y.failed_at = 0
			AND NOT EXISTS (SELECT 1 FROM sync_batch AS b WHERE b.sync_id = y.id AND b.done_at = 0 AND b.tries > 0))`,
		listID, int64(until), int64(now))
	return yes, err
}

// NextEvent returns when the next waiting event after now is due, or 0 if there is none. The only error is
// core.ErrStorage.
func (s *Store) NextEvent(ctx context.Context, endpointID string, now core.Instant) (core.Instant, error) {
	var at core.Instant
	err := s.Get(ctx, &at, "SELECT coalesce(min(due_at), 0) FROM outbox INDEXED BY outbox_due WHERE dead_at = 0 "+
		"AND endpoint_id = ? AND due_at > ?", endpointID, int64(now))
	return at, err
}

// EventResult is the result of one attempt to deliver an event. The event is delivered, becomes a dead letter, or is
// tried again at RetryAt.
type EventResult struct {
	Event   *core.OutboxEvent
	Done    bool
	Dead    bool
	RetryAt core.Instant
	Reason  string        // reason for a failure
	Status  int           // status of the response; 0 means no response
	Took    time.Duration // duration of the attempt
	Gone    bool          // whether the receiver wants no more events
}

// FinishEvents records the results of attempts. A waiting event holds back later events of the same subscription. A
// dead letter does not. The only error is core.ErrStorage.
func (s *Store) FinishEvents(ctx context.Context, results []EventResult, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		for _, r := range results {
			if err := finishEvent(tx, r, now); err != nil {
				return err
			}
		}
		return nil
	})
}

func finishEvent(tx *db.Tx, r EventResult, now core.Instant) error {
	if r.Event.EndpointID != "" {
		if err := logAttempt(tx, &r, now); err != nil {
			return err
		}
	}
	switch {
	case r.Done:
		return EndQueued(tx, r.Event.EndpointID, "DELETE FROM outbox WHERE id = ? AND dead_at = 0", r.Event.ID)
	case r.Dead:
		if over, err := dropMoot(tx, &r); err != nil || over {
			return err
		}
		return EndQueued(tx, r.Event.EndpointID, "UPDATE outbox SET tries = tries + 1, dead_at = ?, last_error = ? WHERE id = ? AND "+
			"dead_at = 0", int64(now), r.Reason, r.Event.ID)
	}
	_, err := tx.Exec("UPDATE outbox SET tries = tries + 1, due_at = ?, failed_at = ?, last_error = ? WHERE id = ?",
		int64(r.RetryAt), int64(now), r.Reason, r.Event.ID)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE outbox INDEXED BY outbox_subscription SET due_at = max(due_at, ?)
		WHERE list_id = ? AND subscription_id = ? AND endpoint_id = ? AND dead_at = 0 AND id > ?`,
		int64(r.RetryAt), r.Event.ListID, r.Event.SubscriptionID, r.Event.EndpointID, r.Event.ID)
	return err
}

// dropMoot removes an event that the send service has rejected if its list was deleted in the meantime. Such an event
// can never be delivered, and no receiver needs it. dropMoot reports whether it removed the event.
func dropMoot(tx *db.Tx, r *EventResult) (bool, error) {
	if r.Event.EndpointID != "" {
		return false, nil
	}
	n, err := tx.Exec("DELETE FROM outbox WHERE id = ? AND NOT EXISTS (SELECT 1 FROM list WHERE id = ? AND "+
		"deleted_at = 0)", r.Event.ID, r.Event.ListID)
	return n > 0, err
}

// OutboxState holds the numbers of undelivered events for one kind of receiver.
type OutboxState struct {
	Waiting  int64        `db:"waiting" json:"waiting" about:"Events to deliver"`
	Dead     int64        `db:"dead" json:"dead" about:"Events that newsletterd gave up on"`
	OldestAt core.Instant `db:"oldest_at" json:"oldest_at" is:"nullable" about:"Time of the oldest waiting event; null: none waits"`
}

// OutboxState returns the event counts for the send service. The only error is core.ErrStorage.
func (s *Store) OutboxState(ctx context.Context) (OutboxState, error) {
	return s.outboxState(ctx, outboxCounts("SELECT '' AS r"))
}

// EndpointState returns the event counts for the endpoints of all tenants. The only error is core.ErrStorage.
func (s *Store) EndpointState(ctx context.Context) (OutboxState, error) {
	return s.outboxState(ctx, outboxCounts("SELECT id AS r FROM webhook_endpoint"))
}

// outboxCounts returns a query for the counts. The query reads two indexes and only one event, the oldest. It leaves
// out the remaining events of deleted endpoints. receivers is a query for the ids of the receivers, in a column named
// r.
func outboxCounts(receivers string) string {
	return `SELECT o.n AS waiting, d.n AS dead, coalesce((SELECT occurred_at FROM outbox WHERE id = o.oldest), 0) AS oldest_at
		FROM (SELECT count(*) AS n, min(+x.id) AS oldest FROM (` + receivers + `) AS e CROSS JOIN outbox AS x INDEXED BY outbox_due
		ON x.dead_at = 0 AND x.endpoint_id = e.r) AS o CROSS JOIN (SELECT count(*) AS n FROM outbox INDEXED BY outbox_dead
		WHERE dead_at > 0 AND endpoint_id IN (` + receivers + `)) AS d`
}

func (s *Store) outboxState(ctx context.Context, query string) (o OutboxState, err error) {
	err = s.Get(ctx, &o, query)
	return o, err
}

// OutboxFilter selects events in the outbox. Empty fields are ignored.
type OutboxFilter struct {
	TenantID, ListID string
	SubscriptionID   string // requires ListID
	Type             string
	State            string // core.EventWaiting or core.EventDead
	EndpointID       string
}

// OutboxEvents returns a page of the outbox, sorted by id. The only error is core.ErrStorage.
func (s *Store) OutboxEvents(ctx context.Context, f OutboxFilter, afterID int64, limit int) ([]core.OutboxEvent,
	error,
) {
	var e []core.OutboxEvent
	err := s.All(ctx, &e, "SELECT "+outboxColumns+` FROM outbox WHERE id > ?1 AND (?2 = '' OR tenant_id = ?2) AND (?3 =
		'' OR list_id = ?3)
		AND (?4 = '' OR subscription_id = ?4) AND (?5 = '' OR event_type = ?5) AND (?6 = '' OR (dead_at > 0) = (?6 =
		'dead'))
		AND (?7 = '' OR endpoint_id = ?7) ORDER BY id LIMIT +?8`,
		afterID, f.TenantID, f.ListID, f.SubscriptionID, f.Type, f.State, f.EndpointID, limit)
	return e, err
}

// OutboxEvent returns the undelivered rows of an event: one for each receiver or, if endpointID is not empty, only the
// row of that endpoint. eventID may also be the number of a row. If there are no such rows, it returns
// core.ErrNotFound.
func (s *Store) OutboxEvent(ctx context.Context, eventID, endpointID string) ([]core.OutboxEvent, error) {
	var e []core.OutboxEvent
	from := "outbox INDEXED BY outbox_event WHERE event_id = ?1"
	if _, err := strconv.ParseInt(eventID, 10, 64); err == nil {
		from = "outbox WHERE id = ?1"
	}
	err := s.All(ctx, &e, "SELECT "+outboxColumns+" FROM "+from+" AND (?2 = '' OR endpoint_id = ?2) ORDER BY id",
		eventID,
		endpointID)
	if err == nil && len(e) == 0 {
		err = core.ErrNotFound
	}
	return e, err
}

// urgeMark is the name of the mark that changes when someone retries events.
const urgeMark = "outbox_urge"

// urge makes the delivery loop try failing receivers immediately, even if they asked for a pause.
func urge(tx *db.Tx) error { return tx.SetMark(urgeMark, core.NewID()) }

// OutboxUrge returns a string that changes each time someone retries events or changes the endpoint. An empty
// endpointID means the send service. The only error is core.ErrStorage.
func (s *Store) OutboxUrge(ctx context.Context, endpointID string) (urge string, err error) {
	err = s.Get(ctx, &urge, `SELECT coalesce((SELECT value FROM mark WHERE name = ?), '') || ' ' ||
		coalesce((SELECT updated_at FROM webhook_endpoint WHERE id = ?), '')`, urgeMark, endpointID)
	return urge, err
}

// RetryDead requeues dead letters that match f, and returns their number. It takes up to limit of them, oldest first.
// The only error is core.ErrStorage.
func (s *Store) RetryDead(ctx context.Context, f OutboxFilter, limit int, actor string, now core.Instant) (n int64,
	err error,
) {
	err = s.Bulk(ctx, func(tx *db.Tx) error {
		tx.Kick(db.TopicOutbox)
		tx.Kick(db.TopicEndpoints)
		n, err = reviveDead(tx, f, limit, now)
		if err != nil || n == 0 {
			return err
		}
		if err := urge(tx); err != nil {
			return err
		}
		tx.Tell("retried", nil, n)
		return tx.Audit(now, actor, "outbox.retry", f.TenantID, "dead letters")
	})
	return n, err
}

// reviveDead requeues the oldest dead letters that match f, as long as the queue of their endpoint has room.
func reviveDead(tx *db.Tx, f OutboxFilter, limit int, now core.Instant) (n int64, err error) {
	full := core.Strings{}
	for more := true; more && n < int64(limit); {
		more = false
		var rows []struct {
			ID         int64  `db:"id"`
			EndpointID string `db:"endpoint_id"`
			Bytes      int    `db:"bytes"`
		}
		err := tx.All(&rows, deadLetters, f.TenantID, f.ListID, f.SubscriptionID, f.Type, f.EndpointID, full.Column(),
			int64(limit)-n)
		if err != nil {
			return n, err
		}
		for _, r := range rows {
			fits, err := waitsAgain(tx, r.EndpointID, r.Bytes)
			if err == nil && fits {
				err = tx.One("UPDATE outbox SET dead_at = 0, failed_at = 0, tries = 0, due_at = ?1, revived_at = ?1 WHERE id = ?2",
					int64(now),
					r.ID)
				n++
			}
			if err != nil {
				return n, err
			}
			if !fits && !slices.Contains(full, r.EndpointID) {
				full, more = append(full, r.EndpointID), true // dead letters of other endpoints may follow
			}
		}
	}
	return n, nil
}

// deadLetters is a query for the dead letters that match a filter, except those of given endpoints.
const deadLetters = `SELECT id, endpoint_id, octet_length(body) AS bytes FROM outbox INDEXED BY outbox_dead WHERE dead_at > 0
	AND (?1 = '' OR tenant_id = ?1) AND (?2 = '' OR list_id = ?2) AND (?3 = '' OR subscription_id = ?3)
	AND (?4 = '' OR event_type = ?4) AND (?5 = '' OR endpoint_id = ?5)
	AND endpoint_id NOT IN (SELECT value FROM json_each(?6)) ORDER BY dead_at, id LIMIT +?7`

// RetryEvent makes an event due now, together with the earlier events of the same subscription. A dead letter is
// requeued. A late delivery is harmless, because receivers ignore stale events. If the event was delivered or never
// existed, RetryEvent returns core.ErrNotFound. If it is a dead letter and its endpoint's queue is full, RetryEvent
// returns a Conflict.
func (s *Store) RetryEvent(ctx context.Context, id int64, actor string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		var e struct {
			TenantID       string `db:"tenant_id"`
			EventID        string `db:"event_id"`
			ListID         string `db:"list_id"`
			SubscriptionID string `db:"subscription_id"`
			EndpointID     string `db:"endpoint_id"`
			Dead           bool   `db:"dead"`
			Bytes          int    `db:"bytes"`
		}
		if err := tx.Get(&e, "SELECT tenant_id, event_id, list_id, subscription_id, endpoint_id, dead_at > 0 AS dead, "+
			"octet_length(body) AS bytes FROM outbox WHERE id = ?", id); err != nil {
			return err
		}
		if e.Dead {
			fits, err := waitsAgain(tx, e.EndpointID, e.Bytes)
			if err != nil {
				return err
			}
			if !fits {
				return core.Conflictf("conflict",
					"Too many events are waiting for this webhook endpoint. Try again later.")
			}
		}
		tx.Kick(db.TopicOutbox)
		tx.Kick(db.TopicEndpoints)
		if err := tx.Watch("outbox", strconv.FormatInt(id, 10)); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE outbox SET revived_at = CASE WHEN dead_at > 0 THEN ?1 ELSE revived_at END,
			dead_at = 0, failed_at = 0, tries = 0, due_at = ?1 WHERE id = ?2`, int64(now), id); err != nil {
			return err
		}
		_, err := tx.Exec("UPDATE outbox INDEXED BY outbox_subscription SET due_at = min(due_at, ?) WHERE "+
			"list_id = ? AND subscription_id = ? AND endpoint_id = ? AND dead_at = 0 AND id < ?",
			int64(now), e.ListID, e.SubscriptionID, e.EndpointID, id)
		if err == nil {
			err = urge(tx)
		}
		if err != nil {
			return err
		}
		return tx.Audit(now, actor, "outbox.retry", e.TenantID, e.EventID)
	})
}
