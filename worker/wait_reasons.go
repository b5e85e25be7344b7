package worker

import (
	"context"
	"slices"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

// waitShownAfter is how long a relay must be down before its jobs are shown as waiting for it.
const waitShownAfter = time.Minute

// waitReasons writes down why running jobs wait, where that lasts and ends by itself.
type waitReasons struct {
	store      *store.Store
	dispatcher *dispatcher
	changed    flag // jobs may have begun or ceased to wait
}

// look makes the claimer note why jobs wait.
func (w *waitReasons) look() {
	w.changed.Store(true)
	w.dispatcher.signal()
}

// note writes down which running jobs wait and why, and which wait no more. Only the claimer's goroutine calls it.
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

// waitReason returns why a tenant's jobs wait, or nothing where they don't. The dispatcher's lock is held.
func (t *tenantQueue) waitReason(now time.Time) string {
	if until := t.pace.spentUntil(now); !until.IsZero() {
		return core.HoldQuota("tenant", core.At(until))
	}
	if t.refusals > 0 && now.Sub(t.downAt) >= waitShownAfter {
		return core.HoldSender
	}
	return t.group.waitReason(now)
}
