package worker

import (
	"context"
	"log/slog"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

const (
	housekeepingEvery = 10 * time.Minute
	housekeepingPause = 50 * time.Millisecond // between batches, to give requests priority
	optimizeEvery     = 24 * time.Hour
)

// Housekeeping returns the loop that deletes expired records in small batches. At the start and once a day, it also
// runs SQLite's optimizer.
func Housekeeping(s *store.Store, keep people.Retention, log *slog.Logger) *Loop {
	var optimize time.Time // time of the next optimizer run
	return &Loop{Name: "housekeeping", Step: func(ctx context.Context, now time.Time) time.Time {
		more, err := s.Housekeeping(ctx, keep, core.At(now))
		switch {
		case err != nil:
			log.Warn("housekeeping", slog.Any("error", err))
		case more:
			return now.Add(housekeepingPause)
		case !now.Before(optimize):
			optimize = now.Add(optimizeEvery)
			if err := s.Optimize(ctx); err != nil {
				log.Warn("database: optimize", slog.Any("error", err))
			}
		}
		return now.Add(housekeepingEvery)
	}}
}
