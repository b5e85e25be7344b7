package worker

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

// selfCheckSpread is a check's maximum random delay, so that daemons don't all start together.
const selfCheckSpread = 30 * time.Minute

// SelfCheck checks each list once a day. It requests a new full sync if the last one failed. If both sides share one
// database, it compares them and requests a full sync to repair differences. It skips lists that another webhook client
// feeds.
type SelfCheck struct {
	store  *store.Store
	at     time.Duration // time of day: duration since midnight, local time
	remote bool          // the send side is another service
	log    *slog.Logger
	loop   *Loop
	due    time.Time

	differing, healed, ended atomic.Int64
}

// SelfCheckFigures holds the result of the last check, and the number of full syncs that all checks have requested.
type SelfCheckFigures struct {
	Differing int64        // subscriptions that differed in the last check
	Healed    int64        // full syncs requested since the start
	EndedAt   core.Instant // end of the last check; 0: none since the start
}

// NewSelfCheck returns a check that runs daily at the given time of day, such as 3 h for three in the morning. If
// remote is true, the send side is another service, and only failed syncs are detected.
func NewSelfCheck(s *store.Store, at time.Duration, remote bool, log *slog.Logger) *SelfCheck {
	c := &SelfCheck{store: s, at: at, remote: remote, log: log}
	c.loop = &Loop{Name: "self-check", Step: c.step}
	return c
}

// Loop returns the loop that runs the checks. The caller must start it.
func (c *SelfCheck) Loop() *Loop { return c.loop }

// Figures returns the results of the self-check for the metrics.
func (c *SelfCheck) Figures() SelfCheckFigures {
	return SelfCheckFigures{c.differing.Load(), c.healed.Load(), core.Instant(c.ended.Load())}
}

func (c *SelfCheck) step(ctx context.Context, now time.Time) time.Time {
	if c.due.IsZero() {
		c.due = c.next(now)
	}
	if now.Before(c.due) {
		return c.due
	}
	c.check(ctx)
	c.due = c.next(time.Now())
	return c.due
}

// next returns the time of the next check, including a random delay.
func (c *SelfCheck) next(now time.Time) time.Time {
	y, m, d := now.Date()
	at := time.Date(y, m, d, int(c.at/time.Hour), int(c.at%time.Hour/time.Minute), 0, 0, now.Location())
	if !at.After(now) {
		at = time.Date(y, m, d+1, int(c.at/time.Hour), int(c.at%time.Hour/time.Minute), 0, 0, now.Location())
	}
	return at.Add(rand.N(selfCheckSpread))
}

func (c *SelfCheck) check(ctx context.Context) {
	begin, lists, differing := time.Now(), 0, int64(0)
	page := core.Page{Limit: 500}
	for {
		some, err := c.store.Lists(ctx, nil, true, page)
		if err != nil {
			c.log.Warn("self-check: read", slog.Any("error", err))
			return
		}
		for i := range some {
			if c.loop.stoppingOr(ctx) {
				return
			}
			n, err := c.list(ctx, &some[i])
			if err != nil {
				c.log.Warn("self-check", slog.String("list", some[i].ID), slog.Any("error", err))
				continue
			}
			lists++
			differing += n
		}
		if len(some) < page.Limit {
			break
		}
		page.After = some[len(some)-1].ID
	}
	c.differing.Store(differing)
	c.ended.Store(int64(core.At(time.Now())))
	c.log.Info("self-check: compared both sides of the lists", slog.Int("lists", lists),
		slog.Int64("differing", differing),
		slog.Duration("took", time.Since(begin)))
}

// list checks one list and requests a full sync if that can repair it.
func (c *SelfCheck) list(ctx context.Context, l *core.List) (differing int64, err error) {
	fedBy, err := c.store.FedBy(ctx, l.ID)
	if err != nil || fedBy != "" {
		return 0, err
	}
	heal, err := c.store.SyncFailed(ctx, l.ID)
	if err != nil {
		return 0, err
	}
	if heal {
		c.log.Warn("self-check: the last full sync of a list failed; it starts again", slog.String("list", l.ID))
	}
	if !c.remote {
		d, err := c.store.Drift(ctx, l.ID, 0)
		if err != nil || d.SyncOpen {
			return 0, err
		}
		if differing = d.Total(); differing > 0 {
			heal = heal || d.Healable(l.SyncRemovesAbsent) > 0
			c.log.Warn("self-check: member and send side of a list differ", slog.String("list", l.ID),
				slog.Int64("missing", d.Missing),
				slog.Int64("stopped", d.Stopped), slog.Int64("running", d.Running), slog.Int64("unknown", d.Unknown),
				slog.Int64("different", d.Different), slog.Bool("full_sync", heal))
		}
	}
	if !heal {
		return differing, nil
	}
	if _, err := c.store.RequestSync(ctx, l.ID, core.At(time.Now())); err != nil {
		return differing, err
	}
	c.healed.Add(1)
	return differing, nil
}

// stoppingOr reports whether a Step should stop claiming work: ctx has ended, or the daemon is draining.
func (l *Loop) stoppingOr(ctx context.Context) bool {
	select {
	case <-l.Stopping():
		return true
	default:
		return ctx.Err() != nil
	}
}
