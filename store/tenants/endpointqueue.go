package tenants

import (
	"context"
	"encoding/json"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
)

// endpointQueue counts the events that wait for an endpoint, as seen and changed by one operation. The endpoint's row
// is written once, at the end of the operation.
type endpointQueue struct {
	read      bool
	gone      bool // whether the endpoint doesn't exist
	tenantID  string
	waiting   int64 // number of events that waited before the operation
	bytes     int64 // size of these events in bytes
	droppedID int64

	change  int64 // change of the number by the operation
	grown   int64 // change of the size in bytes by the operation
	fed     bool  // whether the operation has written an event
	dropped core.Dropped
	at      core.Instant
}

// queueOf returns the operation's counts of an endpoint's queue.
func queueOf(tx *db.Tx, endpointID string) *endpointQueue {
	queues := gatheredIn(tx).queues
	q := queues[endpointID]
	if q == nil {
		q = &endpointQueue{}
		queues[endpointID] = q
	}
	return q
}

// add adds a waiting event of size bytes to the counts.
func (q *endpointQueue) add(size int) {
	q.change++
	q.grown += int64(size)
}

// WaitsNoMore subtracts events of the given sizes in bytes from the counts of an endpoint's queue. Events for the send
// service (an empty endpointID) aren't counted.
func WaitsNoMore(tx *db.Tx, endpointID string, sizes ...int64) {
	if endpointID == "" {
		return
	}
	q := queueOf(tx, endpointID)
	for _, size := range sizes {
		q.change--
		q.grown -= size
	}
}

// EndQueued runs a statement that removes events from the queue of an endpoint. An empty endpointID means the send
// service.
func EndQueued(tx *db.Tx, endpointID, query string, args ...any) error {
	if endpointID == "" {
		_, err := tx.Exec(query, args...)
		return err
	}
	var sizes []int64
	err := tx.All(&sizes, query+" RETURNING octet_length(body)", args...)
	WaitsNoMore(tx, endpointID, sizes...)
	return err
}

// endpointRoom reports whether one more event of size bytes fits in an endpoint's queue. One place is reserved for
// the event that reports dropped events.
func endpointRoom(tx *db.Tx, endpointID string, size int) (q *endpointQueue, fits bool, err error) {
	q = queueOf(tx, endpointID)
	if !q.read {
		err = tx.Scan("SELECT tenant_id, waiting, waiting_bytes, dropped_id FROM webhook_endpoint WHERE id = ?",
			[]any{endpointID}, &q.tenantID, &q.waiting, &q.bytes, &q.droppedID)
		if q.gone = errors.Is(err, core.ErrNotFound); q.gone {
			err = nil
		}
		if err != nil {
			return q, false, err
		}
		q.read = true
	}
	o := tx.DB().Options()
	return q, !q.gone && q.waiting+q.change < o.EndpointEvents-1 && q.bytes+q.grown+int64(size) <= o.EndpointBytes, nil
}

// putToEndpoint adds an event to the outbox for an endpoint. If too many events wait, it counts the event as dropped.
func putToEndpoint(tx *db.Tx, e *core.Event, endpointID string, now core.Instant) error {
	body := e.AppendJSON(nil)
	q, fits, err := endpointRoom(tx, endpointID, len(body))
	switch {
	case err != nil || q.gone:
		return err
	case !fits:
		q.drop(e.Type, e.OccurredAt, now)
		return nil
	}
	q.add(len(body))
	q.fed = true
	return putBody(tx, e, body, endpointID, now)
}

func (q *endpointQueue) drop(eventType string, occurredAt, now core.Instant) {
	q.dropped.Add(eventType, occurredAt)
	q.at = max(q.at, now)
}

// PutSummary adds a summary to the outbox for an endpoint and makes it due at the time due. It returns the id of the
// summary's row, or 0 if the summary was dropped.
func PutSummary(tx *db.Tx, e *core.SummaryEvent, endpointID string, now, due core.Instant) (id int64, err error) {
	q, fits, err := endpointRoom(tx, endpointID, len(e.Body()))
	if err == nil && !fits && !q.gone {
		q.drop(e.Type, e.OccurredAt, now)
	}
	if err != nil || !fits {
		return 0, err
	}
	return writeSummary(tx, e, endpointID, due)
}

func writeSummary(tx *db.Tx, e *core.SummaryEvent, endpointID string, due core.Instant) (id int64, err error) {
	q, body := queueOf(tx, endpointID), e.Body()
	q.add(len(body))
	q.fed = true
	return tx.Insert(`INSERT INTO outbox (event_id, event_type, tenant_id, list_id, subscription_id, body, occurred_at,
		due_at, endpoint_id) VALUES (?, ?, ?, ?, '', ?, ?, ?, ?)`,
		e.ID, e.Type, e.TenantID, e.ListID, body, int64(e.OccurredAt), int64(due), endpointID)
}

// waitsAgain counts a dead letter of size bytes as waiting for an endpoint again. If the endpoint's queue has no room
// for it, waitsAgain returns false.
func waitsAgain(tx *db.Tx, endpointID string, size int) (bool, error) {
	if endpointID == "" {
		return true, nil
	}
	q, fits, err := endpointRoom(tx, endpointID, size)
	if err != nil || !fits && !q.gone {
		return false, err
	}
	q.add(size)
	return true, nil
}

// tellDropped reports dropped events to an endpoint. It extends the waiting report or, if that report is being sent,
// adds a new one to the outbox.
func tellDropped(tx *db.Tx, endpointID string, q *endpointQueue) error {
	var row struct {
		EventID string `db:"event_id"`
		Body    string `db:"body"`
	}
	err := tx.Get(&row, "SELECT event_id, body FROM outbox WHERE id = ? AND dead_at = 0", q.droppedID)
	if err == nil {
		var before core.Dropped
		if err := json.Unmarshal([]byte(row.Body), &before); err != nil {
			return err
		}
		q.dropped.Merge(before)
		e := core.DroppedEvent(row.EventID, q.tenantID, q.dropped)
		q.grown += int64(len(e.Body()) - len(row.Body))
		return tx.One("UPDATE outbox SET body = ?, occurred_at = ? WHERE id = ?", e.Body(), int64(e.OccurredAt),
			q.droppedID)
	}
	if !errors.Is(err, core.ErrNotFound) {
		return err
	}
	if q.waiting+q.change >= tx.DB().Options().EndpointEvents {
		if err := makePlace(tx, endpointID, q); err != nil {
			return err
		}
	}
	e := core.DroppedEvent(core.NewID(), q.tenantID, q.dropped)
	if q.droppedID, err = writeSummary(tx, e, endpointID, q.at); err != nil {
		return err
	}
	tx.ByNoOne() // not by the caller whose event did not fit
	return tx.Enter(q.at, "daemon", "webhook-endpoint.drop", q.tenantID, endpointID, "")
}

// makePlace drops the waiting event that is due last, to make room for a report of dropped events. This is necessary if
// an earlier report was posted and still waits for a retry. The dropped event is the last one of a subscription, so the
// order of the others is kept.
func makePlace(tx *db.Tx, endpointID string, q *endpointQueue) error {
	var last struct {
		ID         int64        `db:"id"`
		Type       string       `db:"event_type"`
		OccurredAt core.Instant `db:"occurred_at"`
	}
	err := tx.Get(&last, `SELECT id, event_type, occurred_at FROM outbox INDEXED BY outbox_due WHERE dead_at = 0 AND
		endpoint_id = ? AND subscription_id <> '' ORDER BY due_at DESC, id DESC LIMIT 1`, endpointID)
	if errors.Is(err, core.ErrNotFound) { // no waiting event is about a subscription
		return nil
	}
	if err != nil {
		return err
	}
	q.drop(last.Type, last.OccurredAt, q.at)
	return EndQueued(tx, endpointID, "DELETE FROM outbox WHERE id = ?", last.ID)
}

// OnFed registers fn to be called after each commit of this process that wrote events for endpoints, with the
// endpoints' ids. Commits of other processes kick TopicEndpoints instead. fn must not block and must not call the
// store.
func (s *Store) OnFed(fn func(endpoints []string)) {
	s.gathered.mu.Lock()
	defer s.gathered.mu.Unlock()
	s.gathered.feeds = append(s.gathered.feeds, fn)
}

// SendDropped closes e, an event that reports dropped events, and returns its body. Callers use SendDropped just before
// they send e. Events dropped later are reported by a new event. The only error is core.ErrStorage.
func (s *Store) SendDropped(ctx context.Context, e *core.OutboxEvent) (body string, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE webhook_endpoint SET dropped_id = 0 WHERE id = ? AND dropped_id = ?", e.EndpointID, e.ID)
		if err != nil {
			return err
		}
		err = tx.Get(&body, "SELECT body FROM outbox WHERE id = ?", e.ID)
		if errors.Is(err, core.ErrNotFound) { // deleted in the meantime
			body, err = e.Body, nil
		}
		return err
	})
	return body, err
}

// EndpointBytes returns the size in bytes of the events that wait for all endpoints. The only error is
// core.ErrStorage.
func (s *Store) EndpointBytes(ctx context.Context) (n int64, err error) {
	err = s.Get(ctx, &n, "SELECT coalesce(sum(waiting_bytes), 0) FROM webhook_endpoint")
	return n, err
}

// DroppingEndpoints returns the number of endpoints that have not been notified of all their dropped events yet. The
// only error is core.ErrStorage.
func (s *Store) DroppingEndpoints(ctx context.Context) (n int64, err error) {
	err = s.Get(ctx, &n, "SELECT count(*) FROM webhook_endpoint WHERE dropped_id > 0")
	return n, err
}
