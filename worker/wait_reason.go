package worker

import (
	"context"
	"slices"
	"time"

	"newsletterd/core"
)

// waitShownAfter is how long a relay must be down before its jobs are shown as waiting for it.
const waitShownAfter = time.Minute

// lookAtWaitReasons makes the claimer look why jobs wait.
func (s *Sender) lookAtWaitReasons() {
	s.reasonsChanged.Store(true)
	s.dispatcher.signal()
}

// noteWaitReasons writes down of running jobs that they wait and why, where that lasts and ends by itself, and that they wait no more.
func (s *Sender) noteWaitReasons(ctx context.Context) error {
	if !s.reasonsChanged.Swap(false) {
		return nil
	}
	s.dispatcher.mu.Lock()
	now, jobs := time.Now(), slices.Clone(s.dispatcher.jobs)
	reasons := make([]string, len(jobs))
	for i, j := range jobs {
		reasons[i] = j.tenant.waitReason(now)
	}
	s.dispatcher.mu.Unlock()
	for i, j := range jobs {
		if j.held == reasons[i] {
			continue
		}
		if err := s.store.HoldSendJob(ctx, j.job.No, reasons[i]); err != nil {
			s.reasonsChanged.Store(true)
			return err
		}
		j.held = reasons[i]
	}
	return nil
}

// waitReason is why a tenant's jobs wait; empty: they don't. The dispatcher's mutex is held.
func (t *tenantQueue) waitReason(now time.Time) string {
	if until := t.pace.spentUntil(now); !until.IsZero() {
		return core.HoldQuota("tenant", core.At(until))
	}
	if t.refusals > 0 && now.Sub(t.downAt) >= waitShownAfter {
		return core.HoldSender
	}
	return t.group.waitReason(now)
}

func (g *relayGroup) waitReason(now time.Time) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var until time.Time
	for _, w := range g.relays {
		switch end := w.pace.spentUntil(now); {
		case !end.IsZero():
			until = end
		case w.fails == 0 || now.Sub(w.downAt) < waitShownAfter:
			return ""
		}
	}
	if until.IsZero() {
		return core.ReasonRelay
	}
	return core.HoldQuota("relay", core.At(until))
}
