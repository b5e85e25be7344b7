package worker

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

const (
	// drillSettle is how long an overdue drill waits after startup. A daemon that has just started is busy, and one
	// that restarts every few minutes should not spend its time on drills.
	drillSettle = time.Hour
	// drillSpread is a drill's maximum random delay, so that daemons with shared storage don't start together.
	drillSpread = 30 * time.Minute
	// drillAgain is the delay after a drill that failed or found a problem.
	drillAgain = 24 * time.Hour
)

// Drill returns the loop that regularly checks whether the database can be restored from the replica. A drill is due
// when the last recorded one is older than every. run performs the drill and records the result.
func Drill(s *store.Store, every time.Duration, run func(context.Context) (core.Drill, error), log *slog.Logger) *Loop {
	var earliest time.Time
	begun, spread := time.Now(), rand.N(drillSpread)
	var own core.Instant // time of the last drill of this loop
	step := func(ctx context.Context, now time.Time) time.Time {
		if earliest.IsZero() {
			earliest = now.Add(drillSettle)
		}
		last, err := s.LastDrill(ctx)
		due := earliest
		switch {
		case err != nil:
			log.Warn("replica drill", slog.Any("error", err))
			return now.Add(drillSettle)
		case last != nil && !last.Whole && last.At > own && last.At.Time().After(begun):
			due = now // a command has found a problem, which this process can fix
		case last != nil && last.Whole:
			due = later(earliest, last.At.Time().Add(every+spread))
		case last != nil:
			due = later(earliest, last.At.Time().Add(drillAgain))
		}
		if now.Before(due) {
			return due
		}
		d, err := run(ctx)
		own = core.At(time.Now())
		switch {
		case err != nil:
			log.Warn("restore test: could not run", slog.Any("error", err))
		case d.Whole && len(d.Mended) > 0:
			log.Warn("restore test: passed after a full copy was uploaded",
				slog.String("found", strings.Join(d.Mended, "; ")), slog.Uint64("txid", d.TXID))
		case d.Whole:
			log.Info("restore test: passed", slog.Uint64("txid", d.TXID), slog.Int64("ms", d.TookMS))
		default:
			log.Error("restore test: failed", slog.String("found", strings.Join(d.Findings, "; ")))
		}
		earliest = now.Add(drillAgain)
		return earliest
	}
	loop := &Loop{Name: "replica drill", Step: step}
	s.OnForeign(loop.Kick)
	return loop
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
