package db

import (
	"context"
	"time"

	"newsletterd/core"
)

// Throttle counts a request for key in a window that starts with the first request. If the window contains more than
// limit requests, it returns how long to wait, otherwise 0. The only error is core.ErrStorage.
func (s *DB) Throttle(ctx context.Context, key string, limit int, window time.Duration,
	now core.Instant,
) (wait time.Duration, err error) {
	err = s.Update(ctx, func(tx *Tx) (err error) {
		wait, err = tx.Throttle(key, limit, window, now)
		return err
	})
	return wait, err
}

// Throttle is like DB.Throttle, but runs inside an operation.
func (tx *Tx) Throttle(key string, limit int, window time.Duration, now core.Instant) (wait time.Duration, err error) {
	var t struct {
		Count     int          `db:"count"`
		ExpiresAt core.Instant `db:"expires_at"`
	}
	err = tx.Get(&t, `INSERT INTO throttle (key, count, expires_at) VALUES (?1, 1, ?2)
		ON CONFLICT (key) DO UPDATE SET count = iif(expires_at > ?3, min(count + 1, ?4), 1), expires_at =
		iif(expires_at > ?3, expires_at, ?2)
		RETURNING count, expires_at`, key, int64(now.Add(window)), int64(now), limit+1)
	if t.Count > limit {
		wait = t.ExpiresAt.Sub(now)
	}
	return wait, err
}

// Tally increments the count for key in a window that starts with the first call. It returns the count and the end of
// the window.
func (tx *Tx) Tally(key string, window time.Duration, now core.Instant) (n int, until core.Instant, err error) {
	var row struct {
		Count     int          `db:"count"`
		ExpiresAt core.Instant `db:"expires_at"`
	}
	err = tx.Get(&row, `INSERT INTO throttle (key, count, expires_at) VALUES (?1, 1, ?2) ON CONFLICT (key) DO UPDATE SET
		count = CASE WHEN expires_at <= ?3 THEN 1 ELSE count + 1 END,
		expires_at = CASE WHEN expires_at <= ?3 THEN ?2 ELSE min(expires_at, ?2) END
		RETURNING count, expires_at`, key, int64(now.Add(window)), int64(now))
	return row.Count, row.ExpiresAt, err
}
