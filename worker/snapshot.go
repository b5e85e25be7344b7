package worker

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"newsletterd/store"
)

// snapshotSettle is how long a missing or overdue snapshot waits after startup, while the daemon is busy reading.
const snapshotSettle = time.Minute

// Snapshot returns the loop that renews the snapshot file at the given interval and when the daemon stops, unless the
// database hasn't changed. After startup, the interval counts from the file's time, so that even a daemon that restarts
// every hour has a recent snapshot.
func Snapshot(s *store.Store, to string, every time.Duration, log *slog.Logger) *Loop {
	first, owed, last := true, true, uint64(0) // owed: the file may lack changes from before the start
	renew := func(ctx context.Context) error {
		begin, changes := time.Now(), s.Changes()
		if !owed && changes == last {
			return nil
		}
		if err := s.Snapshot(ctx, to); err != nil {
			return err
		}
		owed, last = false, changes
		log.Info("snapshot", slog.String("path", to), slog.Duration("took", time.Since(begin)))
		return nil
	}
	step := func(ctx context.Context, now time.Time) time.Time {
		if first {
			first = false
			next := now.Add(snapshotSettle)
			if fi, err := os.Stat(to); err == nil && fi.ModTime().Add(every).After(next) {
				next = now.Add(min(fi.ModTime().Add(every).Sub(now), every))
			}
			return next
		}
		if err := renew(ctx); err != nil {
			log.Warn("snapshot", slog.Any("error", err))
		}
		return now.Add(every)
	}
	end := func(ctx context.Context) {
		switch err := renew(ctx); {
		case err != nil && errors.Is(context.Cause(ctx), ErrDrain):
			log.Info("snapshot: stopping without it; the database itself is one complete file")
		case err != nil:
			log.Warn("snapshot", slog.Any("error", err))
		}
	}
	return &Loop{Name: "snapshot", Step: step, End: end}
}
