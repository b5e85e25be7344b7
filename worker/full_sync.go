package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

const (
	syncPosts = 4  // batches posted at once
	syncRead  = 64 // batches read at once
)

// fullSync delivers full syncs, one list after the other, several batches of it at once: the receiver takes them in any
// order. What is not recorded as delivered goes out again after a crash; the receiver answers 409.
type fullSync struct {
	store  *store.Store
	poster *Poster
	log    *slog.Logger
	loop   *Loop
}

// FullSync returns the loop that plans and delivers full syncs.
func FullSync(s *store.Store, p *Poster, log *slog.Logger) *Loop {
	f := &fullSync{store: s, poster: p, log: log}
	f.loop = &Loop{Name: "full-sync", Step: f.step}
	s.OnKick(store.TopicSync, f.loop.Kick)
	return f.loop
}

func (f *fullSync) step(ctx context.Context, now time.Time) (next time.Time) {
	syncs, err := f.store.OpenSyncs(ctx, 100)
	if err != nil {
		f.log.Warn("full sync: read", slog.Any("error", err))
		return now.Add(time.Second)
	}
	for i := range syncs {
		if f.loop.stoppingOr(ctx) {
			return next
		}
		at, err := f.advance(ctx, &syncs[i])
		if err != nil {
			f.log.Warn("full sync", slog.String("sync", syncs[i].ID), slog.Any("error", err))
			at = time.Now().Add(jitter(5 * time.Second))
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// advance takes a sync as far as it goes, and returns when it goes on; zero: it has ended.
func (f *fullSync) advance(ctx context.Context, y *core.Sync) (next time.Time, err error) {
	if y.BatchTotal == 0 {
		if due := y.DueAt.Time(); due.After(time.Now()) {
			return due, nil
		}
		if err := f.store.PlanSync(ctx, y, core.At(time.Now())); err != nil || y.BatchTotal == 0 {
			return next, err
		}
		f.log.Info("full sync begins", slog.String("sync", y.ID), slog.String("list", y.ListID),
			slog.Int("batches", y.BatchTotal))
	}
	for after := 0; !f.loop.stoppingOr(ctx); {
		batches, err := f.store.OpenBatches(ctx, y.ID, after, syncRead)
		if err != nil {
			return next, err
		}
		if len(batches) == 0 {
			break
		}
		after = batches[len(batches)-1].BatchNo
		at, ended, err := f.deliver(ctx, y, batches)
		if err != nil || ended {
			return next, err
		}
		if !at.IsZero() { // something failed: what is left waits with it
			next = at
			break
		}
	}
	if !next.IsZero() || f.loop.stoppingOr(ctx) {
		return next, nil
	}
	if done, err := f.store.FinishSync(ctx, y.ID, core.At(time.Now())); err != nil || !done {
		return time.Now().Add(time.Second), err
	}
	f.log.Info("full sync delivered", slog.String("sync", y.ID), slog.String("list", y.ListID),
		slog.Duration("took", time.Since(y.StartedAt.Time())))
	return time.Time{}, nil
}

// deliver posts batches and records what became of them. next is when the earliest of the others is due; ended: the
// receiver refused one for good, and with it the sync.
func (f *fullSync) deliver(
	ctx context.Context, y *core.Sync, batches []core.SyncBatch,
) (next time.Time, ended bool, err error) {
	verdicts := make([]verdict, len(batches))
	var wg sync.WaitGroup
	work := make(chan int)
	for range min(syncPosts, len(batches)) {
		wg.Go(func() {
			for i := range work {
				verdicts[i] = f.post(ctx, y, &batches[i])
			}
		})
	}
	now := core.At(time.Now())
	for i := range batches {
		if batches[i].DueAt <= now {
			work <- i
		}
	}
	close(work)
	wg.Wait()
	if ctx.Err() != nil {
		return next, true, nil
	}
	now = core.At(time.Now())
	var results []store.BatchResult
	for i, v := range verdicts {
		b := &batches[i]
		r := store.BatchResult{SyncID: y.ID, BatchNo: b.BatchNo, Done: v.done, RetryAt: b.DueAt}
		switch {
		case v.dead:
			return next, true, f.fail(ctx, y, v.reason)
		case v.reason != "":
			var over bool
			if over, r.RetryAt = retry(y.StartedAt, b.Tries, v.after, now); over {
				return next, true, f.fail(ctx, y, v.reason)
			}
			f.log.Warn("full sync: a batch was not delivered", slog.String("sync", y.ID), slog.Int("batch", b.BatchNo),
				slog.String("reason", v.reason))
		}
		if !r.Done && (next.IsZero() || r.RetryAt.Time().Before(next)) {
			next = r.RetryAt.Time()
		}
		if r.Done || v.reason != "" {
			results = append(results, r)
		}
	}
	return next, false, f.store.FinishBatches(ctx, results, now)
}

func (f *fullSync) post(ctx context.Context, y *core.Sync, b *core.SyncBatch) verdict {
	subs, err := f.store.SyncSubscribers(ctx, y, b)
	if err != nil {
		return verdict{reason: err.Error()}
	}
	unfit := 0 // the receiver would refuse the whole batch for one of them
	for i := range subs {
		if p := subs[i].Preferences; p != "" && p.Sendable() == "" {
			subs[i].Preferences, unfit = "", unfit+1
		}
	}
	if unfit > 0 {
		f.log.Warn("full sync: preferences that are no strict JSON are left out", slog.String("sync", y.ID),
			slog.Int("batch", b.BatchNo), slog.Int("subscribers", unfit))
	}
	batch := core.FullSync{
		SyncID: y.ID, BatchNo: b.BatchNo, BatchTotal: y.BatchTotal, TenantID: y.TenantID, ListID: y.ListID,
		Subscribers: subs, OccurredAt: y.StartedAt,
	}
	return f.poster.post(ctx, syncPath, batch.AppendJSON(make([]byte, 0, 256*(len(subs)+1))))
}

func (f *fullSync) fail(ctx context.Context, y *core.Sync, reason string) error {
	f.log.Error("full sync failed", slog.String("sync", y.ID), slog.String("list", y.ListID),
		slog.String("reason", reason))
	return f.store.FailSync(ctx, y.ID, reason, core.At(time.Now()))
}
