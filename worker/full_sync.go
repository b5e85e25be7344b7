package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/members"
)

const (
	syncPosts = 4   // batches posted concurrently
	syncRead  = 64  // batches per read
	syncsRead = 100 // syncs per read
)

// fullSync delivers full syncs, one list at a time, with several batches in parallel. The receiver accepts batches in
// any order. After a crash, batches whose delivery was not recorded are sent again. The receiver responds with 409 to
// those that it already has.
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
	s.OnKick(db.TopicSync, f.loop.Kick)
	return f.loop
}

// step advances every due sync as far as possible.
func (f *fullSync) step(ctx context.Context, now time.Time) (next time.Time) {
	for {
		syncs, err := f.store.OpenSyncs(ctx, syncsRead)
		if err != nil {
			f.log.Warn("full sync: open syncs can't be read", slog.Any("error", err))
			return now.Add(time.Second)
		}
		if len(syncs) == 0 {
			return Never
		}
		failed := false
		for i := range syncs {
			if due := syncs[i].DueAt.Time(); due.After(time.Now()) {
				if i == 0 {
					return due
				}
				break
			}
			if err := f.advance(ctx, &syncs[i]); err != nil {
				f.log.Warn("full sync", slog.String("sync", syncs[i].ID), slog.Any("error", err))
				failed = true
			}
			if f.loop.stoppingOr(ctx) {
				return Never
			}
		}
		if failed {
			return time.Now().Add(jitter(5 * time.Second))
		}
	}
}

// advance advances a sync until it ends or has to wait. In the latter case, it stores when the sync continues.
func (f *fullSync) advance(ctx context.Context, y *core.Sync) error {
	if y.BatchTotal == 0 {
		if err := f.store.PlanSync(ctx, y, core.At(time.Now())); err != nil || y.BatchTotal == 0 {
			return err
		}
		f.log.Info("full sync started", slog.String("sync", y.ID), slog.String("list", y.ListID),
			slog.Int("batches", y.BatchTotal))
	}
	for after := 0; !f.loop.stoppingOr(ctx); {
		batches, err := f.store.OpenBatches(ctx, y.ID, after, syncRead)
		if err != nil {
			return err
		}
		if len(batches) == 0 {
			break
		}
		after = batches[len(batches)-1].BatchNo
		// If a batch failed, the remaining ones wait until it is retried.
		if over, err := f.deliver(ctx, y, batches); err != nil || over {
			return err
		}
	}
	if f.loop.stoppingOr(ctx) {
		return nil
	}
	if done, err := f.store.FinishSync(ctx, y.ID, core.At(time.Now())); err != nil || !done {
		return errors.Join(err, errNotFinished)
	}
	f.log.Info("full sync delivered", slog.String("sync", y.ID), slog.String("list", y.ListID),
		slog.Duration("took", time.Since(y.StartedAt.Time())))
	return nil
}

// errNotFinished is returned for a sync that has no batches left to deliver but can't be finished, because some failed
// in the meantime.
var errNotFinished = errors.New("the sync has no batches, so it can't be finished")

// deliver posts batches and records the results. If over is true, the caller must stop: the sync continues later, or it
// has ended because the receiver rejected a batch permanently.
func (f *fullSync) deliver(ctx context.Context, y *core.Sync, batches []core.SyncBatch) (over bool, err error) {
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
		return true, nil
	}
	now = core.At(time.Now())
	var next core.Instant // earliest retry of the undelivered batches
	var results []members.BatchResult
	for i, v := range verdicts {
		b := &batches[i]
		r := members.BatchResult{BatchNo: b.BatchNo, Done: v.done, RetryAt: b.DueAt}
		switch {
		case v.dead:
			return true, f.fail(ctx, y, v.reason)
		case v.reason != "":
			if over, r.RetryAt = retry(y.StartedAt, b.Tries, v.after, now); over {
				return true, f.fail(ctx, y, v.reason)
			}
			f.log.Warn("full sync: a batch could not be "+
				"delivered", slog.String("sync", y.ID), slog.Int("batch", b.BatchNo),
				slog.String("reason", v.reason))
		}
		if !r.Done && (next == 0 || r.RetryAt < next) {
			next = r.RetryAt
		}
		if r.Done || v.reason != "" {
			results = append(results, r)
		}
	}
	return next > 0, f.store.FinishBatches(ctx, y.ID, results, next, now)
}

func (f *fullSync) post(ctx context.Context, y *core.Sync, b *core.SyncBatch) verdict {
	subs, err := f.store.SyncSubscribers(ctx, y, b)
	if err != nil {
		return verdict{reason: err.Error()}
	}
	unfit := 0 // subscribers that would make the receiver reject the whole batch
	for i := range subs {
		if p := subs[i].Preferences; p != "" && p.Sendable() == "" {
			subs[i].Preferences, unfit = "", unfit+1
		}
	}
	if unfit > 0 {
		f.log.Warn("full sync: skipped preferences that are not strict JSON", slog.String("sync", y.ID),
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
