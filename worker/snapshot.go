package worker

import (
	"context"
	"log/slog"
	"time"

	"newsletterd/store"
)

// Snapshot renews the snapshot file every so often and when the daemon stops, where something changed since the last one.
func Snapshot(s *store.Store, to string, every time.Duration, log *slog.Logger) *Loop {
	first, last := true, uint64(0)
	renew := func(ctx context.Context) {
		begin, changes := time.Now(), s.Changes()
		if changes == last {
			return
		}
		if err := s.Snapshot(ctx, to); err != nil {
			log.Warn("snapshot", slog.Any("error", err))
			return
		}
		last = changes
		log.Info("snapshot", slog.String("path", to), slog.Duration("took", time.Since(begin)))
	}
	return &Loop{Name: "snapshot", Step: func(ctx context.Context, now time.Time) time.Time {
		if !first { // the start is the wrong moment to read the whole file
			renew(ctx)
		}
		first = false
		return now.Add(every)
	}, End: renew}
}
