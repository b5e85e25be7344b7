package worker

import (
	"context"
	"log/slog"
	"time"

	"newsletterd/store"
)

// Snapshot renews the snapshot file every so often, where something changed since the last one.
func Snapshot(s *store.Store, to string, every time.Duration, log *slog.Logger) *Loop {
	first, last := true, uint64(0)
	return &Loop{Name: "snapshot", Step: func(ctx context.Context, now time.Time) time.Time {
		changes := s.Changes()
		switch {
		case first: // the start is the wrong moment to read the whole file
			first = false
		case changes != last:
			if err := s.Snapshot(ctx, to); err != nil {
				log.Warn("snapshot", slog.Any("error", err))
				break
			}
			last = changes
			log.Info("snapshot", slog.String("path", to), slog.Duration("took", time.Since(now)))
		}
		return now.Add(every)
	}}
}
