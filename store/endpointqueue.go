package store

import (
	"context"
	"encoding/json"
	"errors"

	"newsletterd/core"
)

// endpointQueue is what an operation knows of the events that wait for an endpoint, and changes of them. The row of the
// endpoint is written once, at the end of the operation.
type endpointQueue struct {
	read      bool
	gone      bool // there is no such endpoint
	tenantID  string
	waiting   int64 // before the operation
	droppedID int64

	change  int64 // by the operation
	fed     bool  // an event was written
	dropped core.Dropped
	at      core.Instant
}

// queueOf returns what is known of the queue of an endpoint.
func (tx *Tx) queueOf(endpointID string) *endpointQueue {
	queues := gatheredIn(tx).queues
	q := queues[endpointID]
	if q == nil {
		q = &endpointQueue{}
		queues[endpointID] = q
	}
	return q
}

// waits notes how many more events wait for an endpoint. Those for the send service (empty) aren't counted.
func (tx *Tx) waits(endpointID string, n int64) {
	if endpointID != "" && n != 0 {
		tx.queueOf(endpointID).change += n
	}
}

// endpointRoom returns how many more events may wait for an endpoint. One place is kept for the event that tells of
// those that were dropped.
func (tx *Tx) endpointRoom(endpointID string) (q *endpointQueue, room int64, err error) {
	q = tx.queueOf(endpointID)
	if !q.read {
		err = tx.scan("SELECT tenant_id, waiting, dropped_id FROM webhook_endpoint WHERE id = ?", []any{endpointID},
			&q.tenantID, &q.waiting, &q.droppedID)
		if q.gone = errors.Is(err, core.ErrNotFound); q.gone {
			err = nil
		}
		if err != nil {
			return q, 0, err
		}
		q.read = true
	}
	if q.gone {
		return q, 0, nil
	}
	return q, max(0, tx.DB().Options().EndpointEvents-1-q.waiting-q.change), nil
}

// putToEndpoint puts an event into the outbox for an endpoint, or counts it as dropped where too many wait.
func (tx *Tx) putToEndpoint(e *core.Event, endpointID string, now core.Instant) error {
	q, room, err := tx.endpointRoom(endpointID)
	switch {
	case err != nil || q.gone:
		return err
	case room == 0:
		q.drop(e.Type, e.OccurredAt, now)
		return nil
	}
	q.change++
	q.fed = true
	return tx.putEvent(e, endpointID, now)
}

func (q *endpointQueue) drop(eventType string, occurredAt, now core.Instant) {
	q.dropped.Add(eventType, occurredAt)
	q.at = max(q.at, now)
}

// putSummary puts a summary into the outbox for an endpoint, due at an instant, and returns its row; 0: it was dropped.
func (tx *Tx) putSummary(e *core.SummaryEvent, endpointID string, now, due core.Instant) (id int64, err error) {
	q, room, err := tx.endpointRoom(endpointID)
	if err == nil && room == 0 && !q.gone {
		q.drop(e.Type, e.OccurredAt, now)
	}
	if err != nil || room == 0 {
		return 0, err
	}
	q.change++
	return tx.writeSummary(e, endpointID, due)
}

func (tx *Tx) writeSummary(e *core.SummaryEvent, endpointID string, due core.Instant) (id int64, err error) {
	tx.queueOf(endpointID).fed = true
	return tx.insert(`INSERT INTO outbox (event_id, event_type, tenant_id, list_id, subscription_id, body, occurred_at,
		due_at, endpoint_id) VALUES (?, ?, ?, ?, '', ?, ?, ?, ?)`,
		e.ID, e.Type, e.TenantID, e.ListID, e.Body(), int64(e.OccurredAt), int64(due), endpointID)
}

// waitsAgain notes that a dead letter waits again, and reports whether it may.
func (tx *Tx) waitsAgain(endpointID string) (bool, error) {
	if endpointID == "" {
		return true, nil
	}
	q, room, err := tx.endpointRoom(endpointID)
	if err != nil || room == 0 && !q.gone {
		return false, err
	}
	q.change++
	return true, nil
}

// End writes what the operation has changed of the queues of endpoints, one row for each.
func (g *gathered) End(tx *Tx) error {
	for id, q := range g.queues {
		if len(q.dropped.Counts) > 0 {
			if err := tx.tellDropped(id, q); err != nil {
				return err
			}
		}
		if q.change == 0 && len(q.dropped.Counts) == 0 {
			continue
		}
		_, err := tx.exec("UPDATE webhook_endpoint SET waiting = waiting + ?1, dropped_id = iif(?2 > 0, ?2, dropped_id) "+
			"WHERE id = ?3", q.change, q.droppedID, id)
		if err != nil {
			return err
		}
	}
	return nil
}

// tellDropped extends the event that tells of events that were dropped, as long as it is not on its way, or puts a new
// one into the outbox.
func (tx *Tx) tellDropped(endpointID string, q *endpointQueue) error {
	var row struct {
		EventID string `db:"event_id"`
		Body    string `db:"body"`
	}
	err := tx.get(&row, "SELECT event_id, body FROM outbox WHERE id = ? AND dead_at = 0", q.droppedID)
	if err == nil {
		var before core.Dropped
		if err := json.Unmarshal([]byte(row.Body), &before); err != nil {
			return err
		}
		q.dropped.Merge(before)
		e := core.DroppedEvent(row.EventID, q.tenantID, q.dropped)
		return tx.one("UPDATE outbox SET body = ?, occurred_at = ? WHERE id = ?", e.Body(), int64(e.OccurredAt),
			q.droppedID)
	}
	if !errors.Is(err, core.ErrNotFound) {
		return err
	}
	q.change++
	e := core.DroppedEvent(core.NewID(), q.tenantID, q.dropped)
	if q.droppedID, err = tx.writeSummary(e, endpointID, q.at); err != nil {
		return err
	}
	tx.byNoOne() // whose request it was that found no place is not to blame
	return tx.enter(q.at, "daemon", "webhook-endpoint.drop", q.tenantID, endpointID, "")
}

// OnFed calls fn after each commit of this process that has written events for endpoints, with the ids of these. Those of
// other processes kick TopicEndpoints. fn must not block and must not call the store.
func (s *Store) OnFed(fn func(endpoints []string)) {
	s.gathered.mu.Lock()
	defer s.gathered.mu.Unlock()
	s.gathered.feeds = append(s.gathered.feeds, fn)
}

// SendDropped fixes the body of an event that tells of events that were dropped, and returns it: it is about to be
// posted, and what is dropped from now on is told by another one. Its only error is core.ErrStorage.
func (s *Store) SendDropped(ctx context.Context, e *core.OutboxEvent) (body string, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		_, err := tx.exec("UPDATE webhook_endpoint SET dropped_id = 0 WHERE id = ? AND dropped_id = ?", e.EndpointID, e.ID)
		if err != nil {
			return err
		}
		err = tx.get(&body, "SELECT body FROM outbox WHERE id = ?", e.ID)
		if errors.Is(err, core.ErrNotFound) { // deleted meanwhile
			body, err = e.Body, nil
		}
		return err
	})
	return body, err
}

// DroppingEndpoints counts those that have not been told yet that events were dropped. Its only error is core.ErrStorage.
func (s *Store) DroppingEndpoints(ctx context.Context) (n int64, err error) {
	err = s.get(ctx, &n, "SELECT count(*) FROM webhook_endpoint WHERE dropped_id > 0")
	return n, err
}
