package members

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

const syncColumns = `y.id, y.tenant_id, y.list_id, y.batch_total, y.due_at, y.started_at, y.finished_at, y.failed_at, y.reason,
	(SELECT count(*) FROM sync_batch AS b WHERE b.sync_id = y.id AND b.done_at > 0) AS done`

// RequestSync requests a full sync of a list and returns its id. If a sync is already waiting to be planned, it returns
// the id of that sync. If the context names an actor (By), it adds an audit entry. It returns core.ErrListNotFound or
// tenants.ErrForeignFed.
func (s *Store) RequestSync(ctx context.Context, listID string, now core.Instant) (id string, err error) {
	list, err := s.ListWithTenant(ctx, listID)
	if err != nil {
		return "", err
	}
	fedBy, err := s.FedBy(ctx, listID)
	if err != nil {
		return "", err
	}
	if fedBy != "" {
		return "", tenants.ErrForeignFed
	}
	return s.SyncList(ctx, list, now)
}

// SyncList is like RequestSync, but doesn't check whether another client feeds the list.
func (s *Store) SyncList(ctx context.Context, list *core.ListWithTenant, now core.Instant) (id string, err error) {
	err = s.Update(ctx, s.ByActor(ctx, "list.sync", list.TenantID, list.ID, func(tx *db.Tx) error {
		id, err = RequestSync(tx, list.TenantID, list.ID, now, now)
		tx.Tell("sync", nil, id)
		return err
	}))
	return id, err
}

// RequestSync ensures that a sync of the list is planned at the instant due or later. The sync includes every change
// with an instant up to changed, even if the clock is set back in the meantime. A waiting sync is moved to due, so that
// a long import requests one sync instead of hundreds. A sync that is being planned does not count, because it may have
// passed the change's position.
func RequestSync(tx *db.Tx, tenantID, listID string, due, changed core.Instant) (id string, err error) {
	var was core.Instant
	err = tx.Scan("SELECT id, due_at FROM sync INDEXED BY sync_list WHERE list_id = ? AND batch_total = 0 AND "+
		"due_at > 0 AND finished_at = 0 "+
		"AND failed_at = 0", []any{listID}, &id, &was)
	if err == nil {
		if due < was { // otherwise the loop wakes up in time anyway
			tx.Kick(db.TopicSync)
		}
		_, err = tx.Exec("UPDATE sync SET due_at = ?, started_at = max(started_at, ?) WHERE id = ?", int64(due),
			int64(changed), id)
		return id, err
	}
	if !errors.Is(err, core.ErrNotFound) {
		return "", err
	}
	tx.Kick(db.TopicSync)
	id = core.NewID()
	_, err = tx.Exec("INSERT INTO sync (id, tenant_id, list_id, due_at, started_at) VALUES (?, ?, ?, ?, ?)",
		id, tenantID, listID, int64(due), int64(changed))
	return id, err
}

// Sync returns a sync. If there is none, it returns core.ErrNotFound.
func (s *Store) Sync(ctx context.Context, id string) (y core.Sync, err error) {
	err = s.Get(ctx, &y, "SELECT "+syncColumns+" FROM sync AS y WHERE y.id = ?", id)
	return y, err
}

// OpenSyncs returns the syncs that are neither finished nor failed, ordered by the time when they are due to continue.
// Its only error is core.ErrStorage.
func (s *Store) OpenSyncs(ctx context.Context, limit int) ([]core.Sync, error) {
	var y []core.Sync
	err := s.All(ctx, &y, "SELECT "+syncColumns+` FROM sync AS y INDEXED BY sync_due WHERE y.finished_at = 0 AND
		y.failed_at = 0
		ORDER BY y.due_at, y.id LIMIT +?`, limit)
	return y, err
}

var syncsList = tenants.ListByTenant(syncColumns, "sync AS y", "sync_tenant", "true", tenants.NewestFirst)

// SyncsAmong returns a page of syncs, newest first. It covers the given tenants or, if all is set, every tenant. If
// listID is not empty, it returns only syncs of that list. Its only error is core.ErrStorage.
func (s *Store) SyncsAmong(
	ctx context.Context,
	tenants []string,
	all bool,
	listID string,
	page core.Page,
) (y []core.Sync,
	err error,
) {
	before := page.After
	if before == "" {
		before = "~" // greater than all ids
	}
	if listID != "" {
		err = s.All(ctx, &y, "SELECT "+syncColumns+` FROM sync AS y INDEXED BY sync_list_id WHERE y.list_id = ? AND y.id < ?
			AND (? OR +y.tenant_id IN (SELECT value FROM json_each(?))) ORDER BY y.id DESC LIMIT +?`, listID, before, all,
			db.JsonOf(tenants), page.Limit)
		return y, err
	}
	err = s.AllOf(ctx, &y, &syncsList, tenants, all, before, page.Limit)
	return y, err
}

// SyncFailed reports whether the newest sync of a list has failed. The receiver then lacks the changes that the sync
// should have announced, such as a large import. Its only error is core.ErrStorage.
func (s *Store) SyncFailed(ctx context.Context, listID string) (failed bool, err error) {
	err = s.Get(ctx, &failed, `SELECT coalesce((SELECT failed_at > 0 FROM sync WHERE list_id = ?
		ORDER BY started_at DESC, id DESC LIMIT 1), 0)`, listID)
	return failed, err
}

// PlanSync sets the start and the batches of a sync. The start is committed first: later changes get a later stamp (see
// Stamp), and earlier changes are in the batches. PlanSync can be called again after a crash. If the list no longer
// exists, it marks the sync as failed.
func (s *Store) PlanSync(ctx context.Context, y *core.Sync, now core.Instant) error {
	if _, err := s.ListWithTenant(ctx, y.ListID); errors.Is(err, core.ErrNotFound) {
		return s.FailSync(ctx, y.ID, "the list is gone", now)
	} else if err != nil {
		return err
	}
	err := s.Update(ctx, func(tx *db.Tx) (err error) {
		if y.StartedAt, err = Stamp(tx, y.ListID, now); err != nil {
			return err
		}
		// The sync may have to replace an event that became a dead letter.
		var dead core.Instant
		if err := tx.Get(&dead, "SELECT coalesce(max(occurred_at), 0) FROM outbox INDEXED BY outbox_dead WHERE "+
			"list_id = ? AND dead_at > 0 AND endpoint_id = ''", y.ListID); err != nil {
			return err
		}
		y.StartedAt = max(y.StartedAt, dead+1)
		return tx.One("UPDATE sync SET started_at = ?, due_at = 0 WHERE id = ?", int64(y.StartedAt), y.ID)
	})
	if err != nil {
		return err
	}
	ends, err := s.batchEnds(ctx, y.ListID, y.StartedAt)
	if err != nil {
		return err
	}
	y.BatchTotal = len(ends)
	return s.writePlan(ctx, y, ends)
}

// Stamp returns the instant for a change to a list's subscriptions. It returns now, or the instant just after the start
// of the list's last full sync if that is later. That happens if the clock was set back, or if the request waited while
// the sync was planned. Without this, a receiver would consider the sync newer than the change.
func Stamp(tx *db.Tx, listID string, now core.Instant) (core.Instant, error) {
	var last core.Instant
	err := tx.Get(&last, "SELECT coalesce(max(started_at), 0) FROM sync INDEXED BY sync_list WHERE list_id = ?", listID)
	return max(now, last+1), err
}

// batchEnds goes through the list in pages, each a separate read, and returns the last id of each batch. An empty list
// has one empty batch, which shows the receiver that there are no subscribers.
func (s *Store) batchEnds(ctx context.Context, listID string, now core.Instant) ([]string, error) {
	ends, after := []string{}, ""
	for {
		var end string
		err := s.Get(ctx, &end,
			`SELECT id FROM subscription WHERE list_id = ? AND id > ? AND status != 'pending' AND changed_at <= ?
			ORDER BY id LIMIT 1 OFFSET ?`, listID, after, int64(now), core.SyncBatchSize-1)
		if errors.Is(err, core.ErrNotFound) {
			return append(ends, db.LastID), nil
		}
		if err != nil {
			return nil, err
		}
		ends, after = append(ends, end), end
	}
}

// writePlan stores the batches in operations of at most 500 rows. The last operation opens the sync for delivery.
func (s *Store) writePlan(ctx context.Context, y *core.Sync, ends []string) error {
	from := ""
	for done := 0; done < len(ends); done += core.SyncBatchSize {
		part := ends[done:min(done+core.SyncBatchSize, len(ends))]
		err := s.Bulk(ctx, func(tx *db.Tx) error {
			after := from
			for i, end := range part {
				_, err := tx.Exec(`INSERT INTO sync_batch (sync_id, batch_no, from_id, to_id, due_at) VALUES (?, ?, ?,
					?, ?)
					ON CONFLICT DO UPDATE SET from_id = excluded.from_id, to_id = excluded.to_id, due_at =
					excluded.due_at`,
					y.ID, done+i+1, after, end, int64(y.StartedAt))
				if err != nil {
					return err
				}
				after = end
			}
			if done+len(part) < len(ends) {
				return nil
			}
			tx.Kick(db.TopicSync)
			if _, err := tx.Exec("DELETE FROM sync_batch WHERE sync_id = ? AND batch_no > ?", y.ID,
				len(ends)); err != nil {
				return err
			}
			return tx.One("UPDATE sync SET batch_total = ? WHERE id = ?", len(ends), y.ID)
		})
		if err != nil {
			return err
		}
		from = part[len(part)-1]
	}
	return nil
}

// OpenBatches returns at most limit undelivered batches of a sync, in order, starting after the batch number after. Its
// only error is core.ErrStorage.
func (s *Store) OpenBatches(ctx context.Context, syncID string, after, limit int) ([]core.SyncBatch, error) {
	var b []core.SyncBatch
	err := s.All(ctx, &b, `SELECT sync_id, batch_no, from_id, to_id, due_at, tries FROM sync_batch
		WHERE sync_id = ? AND batch_no > ? AND done_at = 0 ORDER BY batch_no LIMIT +?`, syncID, after, limit)
	return b, err
}

// SyncSubscribers returns the subscribers of a batch. There may be fewer than when the sync was planned, but not
// more. Its only error is core.ErrStorage.
func (s *Store) SyncSubscribers(ctx context.Context, y *core.Sync, b *core.SyncBatch) ([]core.EventSubscriber, error) {
	var rows []struct {
		ID          string           `db:"id"`
		Email       core.Email       `db:"email"`
		Status      string           `db:"status"`
		Preferences core.Preferences `db:"preferences"`
	}
	err := s.All(ctx, &rows,
		`SELECT id, email, status, preferences FROM subscription WHERE list_id = ? AND id > ? AND id <= ?
		AND status != 'pending' AND changed_at <= ? ORDER BY id LIMIT +?`, y.ListID, b.FromID, b.ToID,
		int64(y.StartedAt), core.MaxSyncBatch)
	subs := make([]core.EventSubscriber, len(rows))
	for i, r := range rows {
		subs[i] = core.EventSubscriber(r)
	}
	return subs, err
}

// BatchResult is the result of one attempt to deliver a batch.
type BatchResult struct {
	BatchNo int
	Done    bool
	RetryAt core.Instant // when to try again, if not done
}

// FinishBatches records the results of some batches of a sync. The sync continues with its other batches at next, or
// immediately if next is 0. Its only error is core.ErrStorage.
func (s *Store) FinishBatches(ctx context.Context, syncID string, results []BatchResult, next, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		for _, r := range results {
			set, at := "done_at", now // or the time of the next attempt
			if !r.Done {
				set, at = "due_at", r.RetryAt
			}
			_, err := tx.Exec("UPDATE sync_batch SET tries = tries + 1, "+set+" = ? WHERE sync_id = ? AND batch_no = ?",
				int64(at), syncID, r.BatchNo)
			if err != nil {
				return err
			}
		}
		_, err := tx.Exec("UPDATE sync SET due_at = ?1 WHERE id = ?2 AND due_at <> ?1", int64(next), syncID)
		return err
	})
}

// FinishSync ends a sync if all its batches are delivered, and reports whether it did. Its only error is
// core.ErrStorage.
func (s *Store) FinishSync(ctx context.Context, id string, now core.Instant) (finished bool, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec(`UPDATE sync SET finished_at = ? WHERE id = ? AND batch_total > 0 AND finished_at = 0
			AND NOT EXISTS (SELECT 1 FROM sync_batch WHERE sync_id = sync.id AND done_at = 0)`, int64(now), id)
		finished = n == 1
		return err
	})
	return finished, err
}

// FailSync ends a sync permanently. A later sync starts from the beginning. Its only error is core.ErrStorage.
func (s *Store) FailSync(ctx context.Context, id, reason string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE sync SET failed_at = ?, reason = ? WHERE id = ? AND finished_at = 0", int64(now),
			reason, id)
		return err
	})
}
