package worker

import (
	"context"
	"log/slog"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

const (
	housekeepingEvery = 10 * time.Minute
	housekeepingPause = 50 * time.Millisecond // between batches, so that requests go first
)

// Housekeeping returns the loop that deletes what has expired, in small batches.
func Housekeeping(s *store.Store, keep store.Retention, log *slog.Logger) *Loop {
	return &Loop{Name: "housekeeping", Step: func(ctx context.Context, now time.Time) time.Time {
		more, err := s.Housekeeping(ctx, keep, core.At(now))
		switch {
		case err != nil:
			log.Warn("housekeeping", slog.Any("error", err))
		case more:
			return now.Add(housekeepingPause)
		}
		return now.Add(housekeepingEvery)
	}}
}
