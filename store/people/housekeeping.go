package people

import (
	"context"
	"errors"
	"fmt"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// Retention says how long rows are kept that nothing needs any more.
type Retention struct {
	Pending    time.Duration // subscriptions that were never confirmed
	Recipients time.Duration // rows of jobs that have ended
	Tracking   time.Duration // when which mail of such a job was opened, which link followed; 0: as long as Recipients
	Deleted    time.Duration // tenants, lists, clients and devices after their deletion
	Mail       time.Duration // sent transactional mail
	Events     time.Duration // dead letters, finished syncs
}

const sweepBatch = 500

// Housekeeping deletes a batch of what has expired from each table, in operations of their own, and reports whether
// there is more to delete. Its only error is core.ErrStorage.
func (s *Store) Housekeeping(ctx context.Context, keep Retention, now core.Instant) (more bool, err error) {
	for _, sw := range sweeps {
		before := now
		if sw.keep != nil {
			d := sw.keep(keep)
			if d <= 0 {
				continue
			}
			before = now.Add(-d)
		}
		var n int64
		err := s.Bulk(ctx, func(tx *db.Tx) (err error) {
			n, err = sweepOnce(tx, &sw, before)
			return err
		})
		if err != nil {
			return more, err
		}
		more = more || n == sweepBatch
	}
	files, err := s.RemoveFiles(ctx, now)
	if err != nil {
		return more, err
	}
	pictures, err := s.RemoveMedia(ctx, now)
	if more || files || pictures || err != nil {
		return more || files || pictures, err
	}
	return s.Shrink(ctx)
}

// sweepOnce deletes a batch and returns how many rows it had.
func sweepOnce(tx *db.Tx, sw *sweep, before core.Instant) (int64, error) {
	st, err := tx.Stmt(sw.find)
	if err != nil {
		return 0, err
	}
	rows, err := st.Queryx(before, sweepBatch)
	if err != nil {
		return 0, tx.Translate(err)
	}
	defer rows.Close()
	var keys [][]any
	for rows.Next() {
		key, err := rows.SliceScan()
		if err != nil {
			return 0, tx.Translate(err)
		}
		keys = append(keys, key)
	}
	if err := tx.Translate(errors.Join(rows.Err(), rows.Close())); err != nil {
		return 0, err
	}
	do := sw.do()
	for _, key := range keys {
		if sw.queued {
			err = tenants.EndQueued(tx, fmt.Sprint(key[0]), do, key...)
		} else {
			_, err = tx.Exec(do, key...)
		}
		if err != nil {
			return 0, err
		}
		if sw.counted {
			tenants.Moved(tx, fmt.Sprint(key[0]), core.CountPending, sw.to)
		}
	}
	return int64(len(keys)), nil
}
