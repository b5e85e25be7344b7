package worker

import (
	"context"
	"slices"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

// waitShownAfter is how long a relay must be down before its jobs are shown as waiting.
const waitShownAfter = time.Minute

// waitReasons records why running jobs are waiting, for long waits that end automatically.
type waitReasons struct {
	store      *store.Store
	dispatcher *dispatcher
	changed    flag // jobs may have started or stopped waiting
}

// look makes the claimer record again why jobs are waiting.
func (w *waitReasons) look() {
	w.changed.Store(true)
	w.dispatcher.signal()
}

// note records which running jobs are waiting and why, and which no longer wait. Only the claimer's goroutine calls it.
func (w *waitReasons) note(ctx context.Context) error {
	if !w.changed.Swap(false) {
		return nil
	}
	w.dispatcher.mu.Lock()
	now, jobs := time.Now(), slices.Clone(w.dispatcher.jobs)
	reasons := make([]string, len(jobs))
	for i, j := range jobs {
		reasons[i] = j.tenant.waitReason(now)
	}
	w.dispatcher.mu.Unlock()
	for i, j := range jobs {
		if j.waitReason == reasons[i] {
			continue
		}
		if err := w.store.HoldSendJob(ctx, j.job.No, reasons[i]); err != nil {
			w.changed.Store(true)
			return err
		}
		j.waitReason = reasons[i]
	}
	return nil
}

// waitReason returns why a tenant's jobs are waiting, or an empty string if they aren't. The caller holds the
// dispatcher's lock.
func (t *tenantQueue) waitReason(now time.Time) string {
	if until := t.pace.spentUntil(now); !until.IsZero() {
		return core.HoldQuota("tenant", core.At(until))
	}
	if t.refusals > 0 && now.Sub(t.downAt) >= waitShownAfter {
		return core.HoldSender
	}
	return t.group.waitReason(now)
}
