package worker

import (
	"context"
	"slices"
	"time"

	"newsletterd/core"
)

// holdAfter is how long a way must be down before its jobs are shown as waiting for it.
const holdAfter = time.Minute

// lookAtHolds makes the claimer look why jobs wait.
func (s *Sender) lookAtHolds() {
	s.holds.Store(true)
	s.feed.signal()
}

// noteHolds writes down of running jobs that they wait and why, where that lasts and ends by itself, and that they wait no more.
func (s *Sender) noteHolds(ctx context.Context) error {
	if !s.holds.Swap(false) {
		return nil
	}
	s.feed.mu.Lock()
	now, jobs := time.Now(), slices.Clone(s.feed.jobs)
	reasons := make([]string, len(jobs))
	for i, j := range jobs {
		reasons[i] = j.tenant.holdReason(now)
	}
	s.feed.mu.Unlock()
	for i, j := range jobs {
		if j.held == reasons[i] {
			continue
		}
		if err := s.store.HoldSendJob(ctx, j.job.No, reasons[i]); err != nil {
			s.holds.Store(true)
			return err
		}
		j.held = reasons[i]
	}
	return nil
}

// holdReason is why a tenant's jobs wait; empty: they don't. The feed's mutex is held.
func (t *tenantFeed) holdReason(now time.Time) string {
	if until := t.pace.spentUntil(now); !until.IsZero() {
		return core.HoldQuota("tenant", core.At(until))
	}
	if t.refusals > 0 && now.Sub(t.downAt) >= holdAfter {
		return core.HoldSender
	}
	return t.group.holdReason(now)
}

func (g *routeGroup) holdReason(now time.Time) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var until time.Time
	for _, w := range g.ways {
		switch end := w.pace.spentUntil(now); {
		case !end.IsZero():
			until = end
		case w.fails == 0 || now.Sub(w.downAt) < holdAfter:
			return ""
		}
	}
	if until.IsZero() {
		return core.ReasonRelay
	}
	return core.HoldQuota("relay", core.At(until))
}
