package people

import (
	"context"
	"errors"
	"fmt"
	"time"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// Retention sets how long rows are stored after they are no longer needed.
type Retention struct {
	Pending    time.Duration // subscriptions that were never confirmed
	Recipients time.Duration // recipient rows of ended jobs
	Tracking   time.Duration // opens and clicks of ended jobs; 0 means the same as Recipients
	Deleted    time.Duration // tenants, lists, clients and devices after their deletion
	Mail       time.Duration // transactional emails that were sent
	Events     time.Duration // dead letters and finished syncs
}

const sweepBatch = 500

// Housekeeping deletes a batch of expired rows from each table, in separate operations. It reports whether there is
// more to delete. Its only error is core.ErrStorage.
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

// sweepOnce deletes one batch of rows and returns their number.
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
	for i, key := range keys {
		if sw.engaged && (i == 0 || key[0] != keys[i-1][0]) {
			if err := campaigns.NoteSwept(tx, key[0].(int64)); err != nil {
				return 0, err
			}
		}
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
