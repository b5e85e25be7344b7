package people

import (
	"context"
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

// driftStep is the maximum number of rows of one side that one read compares.
const driftStep = 2000

// driftPause is the pause between two reads. It leaves time for other work, because the comparison is not urgent.
const driftPause = 2 * time.Millisecond

// inFlight is the SQL condition that an event about the subscription is still pending. Within one statement, a changed
// row and its event are either both visible or neither.
const inFlight = "EXISTS (SELECT 1 FROM outbox AS o INDEXED BY outbox_subscription WHERE o.list_id = ?1 AND " +
	"o.subscription_id = m.id AND " +
	"o.endpoint_id = '' AND o.dead_at = 0)"

// Drift compares both sides of a list, page by page, and returns up to sample subscriptions that differ. If there is no
// such list, it returns core.ErrListNotFound.
func (s *Store) Drift(ctx context.Context, listID string, sample int) (d core.Drift, err error) {
	if _, err = s.ListWithTenant(ctx, listID); err != nil {
		return d, err
	}
	d.ListID = listID
	if d.FedBy, err = s.FedBy(ctx, listID); err != nil {
		return d, err
	}
	err = s.Get(ctx, &d.SyncOpen,
		`SELECT EXISTS (SELECT 1 FROM sync INDEXED BY sync_list WHERE list_id = ?1 AND finished_at = 0 AND
			failed_at = 0)
		OR EXISTS (SELECT 1 FROM received_sync INDEXED BY received_sync_list WHERE list_id = ?1 AND removing =
		1)`, listID)
	if err != nil {
		return d, err
	}
	if err := s.ranges(ctx, "subscription", listID, func(after, to string) error {
		return s.driftOfMember(ctx, &d,
			after, to, sample)
	}); err != nil {
		return d, err
	}
	return d, s.ranges(ctx, "subscriber", listID, func(after, to string) error {
		return s.driftOfSend(ctx, &d, after,
			to, sample)
	})
}

// ranges calls visit for consecutive ranges of the ids of a list's rows in a table.
func (s *Store) ranges(ctx context.Context, table, listID string, visit func(after, to string) error) error {
	for after := ""; after != db.LastID; {
		to := db.LastID
		err := s.Get(ctx, &to, "SELECT id FROM "+table+" WHERE list_id = ? AND id > ? ORDER BY id LIMIT 1 OFFSET ?",
			listID, after, driftStep-1)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return err
		}
		if err := visit(after, to); err != nil {
			return err
		}
		after = to
		select {
		case <-ctx.Done():
			return core.ErrStorage.With(ctx.Err())
		case <-time.After(driftPause):
		}
	}
	return nil
}

// driftRow is a subscription that differs. Waits is true if a pending event is expected to resolve the difference.
type driftRow struct {
	core.DriftSample
	Waits bool `db:"waits"`
}

func (s *Store) driftOfMember(ctx context.Context, d *core.Drift, after, to string, sample int) error {
	var n struct {
		Active       int64 `db:"active"`
		Unsubscribed int64 `db:"unsubscribed"`
		Pending      int64 `db:"pending"`
	}
	err := s.Get(ctx, &n, `SELECT count(*) FILTER (WHERE status = 'active') AS active, count(*) FILTER (WHERE status =
		'unsubscribed') AS unsubscribed,
		count(*) FILTER (WHERE status = 'pending') AS pending FROM subscription WHERE list_id = ? AND id > ? AND id <=
		?`, d.ListID, after, to)
	if err != nil {
		return err
	}
	d.MemberActive, d.MemberUnsubscribed, d.MemberPending = d.MemberActive+n.Active, d.MemberUnsubscribed+n.Unsubscribed,
		d.MemberPending+n.Pending
	var rows []driftRow
	err = s.All(ctx, &rows, `SELECT email, what, member, send, waits FROM (SELECT m.email, m.status AS member,
		coalesce(nullif(s.block, ''), s.word, '') AS send, `+inFlight+` AS waits,
		CASE WHEN m.status = 'active' AND s.id IS NULL THEN 'missing' WHEN m.status = 'active' AND s.word <> 'active'
		THEN 'stopped'
		WHEN m.status = 'unsubscribed' AND s.word = 'active' THEN 'running' WHEN m.status = 'pending' AND s.word =
		'active' THEN 'unknown'
		WHEN m.status = 'active' AND (s.preferences <> m.preferences OR s.email <> m.email) THEN 'different' ELSE ''
		END AS what
		FROM subscription AS m LEFT JOIN subscriber AS s ON s.list_id = ?1 AND s.id = m.id
		WHERE m.list_id = ?1 AND m.id > ?2 AND m.id <= ?3) WHERE what <> ''`, d.ListID, after, to)
	countDrift(d, rows, sample)
	return err
}

func (s *Store) driftOfSend(ctx context.Context, d *core.Drift, after, to string, sample int) error {
	var n struct {
		Active       int64 `db:"active"`
		Unsubscribed int64 `db:"unsubscribed"`
		Blocked      int64 `db:"blocked"`
	}
	err := s.Get(ctx, &n, `SELECT count(*) FILTER (WHERE word = 'active') AS active, count(*) FILTER (WHERE word =
		'unsubscribed') AS unsubscribed,
		count(*) FILTER (WHERE block <> '') AS blocked FROM subscriber WHERE list_id = ? AND id > ? AND id <= ?`,
		d.ListID, after, to)
	if err != nil {
		return err
	}
	d.SendActive, d.SendUnsubscribed, d.SendBlocked = d.SendActive+n.Active, d.SendUnsubscribed+n.Unsubscribed,
		d.SendBlocked+n.Blocked
	var rows []driftRow
	err = s.All(ctx, &rows,
		`SELECT s.email, 'unknown' AS what, '' AS member, coalesce(nullif(s.block, ''), s.word) AS send, 0 AS waits
		FROM subscriber AS s LEFT JOIN subscription AS m ON m.list_id = ?1 AND m.id = s.id
		WHERE s.list_id = ?1 AND s.id > ?2 AND s.id <= ?3 AND s.word = 'active' AND m.id IS NULL`, d.ListID, after, to)
	countDrift(d, rows, sample)
	return err
}

// TakeOver makes the daemon's own member service manage a list again, in place of the webhook client that has fed it.
// If no client has fed the list, TakeOver returns core.ErrNotFound.
func (s *Store) TakeOver(ctx context.Context, listID, actor string, now core.Instant) error {
	list, err := s.ListWithTenant(ctx, listID)
	if err != nil {
		return err
	}
	return s.Update(ctx, func(tx *db.Tx) error {
		var clientID string
		if err := tx.Get(&clientID, "DELETE FROM fed_list WHERE list_id = ? RETURNING client_id", listID); err != nil {
			return err
		}
		tx.Tell("fed_by", clientID, nil)
		return tx.Audit(now, actor, "list.take-over", list.TenantID, listID)
	})
}

// countDrift adds rows to the counts of d and keeps at most sample of them.
func countDrift(d *core.Drift, rows []driftRow, sample int) {
	kinds := map[string]*int64{
		"missing": &d.Missing, "stopped": &d.Stopped, "running": &d.Running, "unknown": &d.Unknown,
		"different": &d.Different,
	}
	for _, r := range rows {
		if r.Waits {
			d.InFlight++
			continue
		}
		*kinds[r.What]++
		if len(d.Sample) < sample {
			d.Sample = append(d.Sample, r.DriftSample)
		}
	}
}
