package db

import (
	"context"
	"time"

	"newsletterd/core"
)

// Throttle counts one request under a key, in windows that begin with the first of them, and returns how long to wait
// when there were more than limit; 0: go on. Its only error is core.ErrStorage.
func (s *DB) Throttle(ctx context.Context, key string, limit int, window time.Duration,
	now core.Instant,
) (wait time.Duration, err error) {
	err = s.Update(ctx, func(tx *Tx) (err error) {
		wait, err = tx.Throttle(key, limit, window, now)
		return err
	})
	return wait, err
}

// Throttle is Throttle inside an operation.
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
