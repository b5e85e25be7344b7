package worker

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

// The pauses after failing to record outcomes.
const (
	recordRetry    = 50 * time.Millisecond
	recordRetryMax = 5 * time.Second
)

// gatherFor is how long an outcome waits for others to be recorded with it while no connection needs a slot.
const gatherFor = 25 * time.Millisecond

// fast is the time in which a full batch of outcomes must arrive to be recorded immediately. If outcomes arrive more
// slowly, as for signed emails, connections don't need a slot soon, so the commit can wait for twice as many outcomes.
const fast = 5 * time.Millisecond

// recorder passes outcomes to the store's writer and frees their inflight slots after the commit, never before. The
// writer takes all pending outcomes when its transaction starts. No extra goroutine is involved, because it would delay
// each slot. A commit costs as much as the outcomes of some hundred emails, so the recorder asks the writer only when a
// good part of max_unrecorded is pending or a connection is waiting for a slot.
type recorder struct {
	store      *store.Store
	inflight   *inflight
	dispatcher *dispatcher
	log        *slog.Logger

	mu      sync.Mutex
	changed *sync.Cond
	pending []record      // not yet taken by the writer
	flight  []record      // taken by the writer, but not yet committed
	unkept  int           // committed, but not yet in the replica; 0 without a replica
	began   time.Time     // arrival of the first pending outcome
	enough  int           // number of outcomes worth a commit
	waiting atomic.Int32  // connections waiting for a slot
	timer   *time.Timer   // timer for gatherFor
	asked   bool          // the writer will take the pending outcomes
	taken   bool          // the current transaction has taken outcomes
	gone    bool          // flush has returned, so failures are not retried
	wait    time.Duration // pause before the next try, after a failure

	batch []core.Outcome // the writer's buffer
}

func newRecorder(s *Sender) *recorder {
	r := &recorder{
		store: s.store, inflight: s.inflight, dispatcher: s.dispatcher, log: s.opts.Log,
		enough: max(s.opts.MaxUnrecorded/4, s.opts.MaxUnrecorded/2-s.opts.Connections),
	}
	r.changed = sync.NewCond(&r.mu)
	r.timer = time.AfterFunc(time.Hour, r.hurry)
	r.timer.Stop()
	return r
}

// add adds an outcome. It does not wait for the commit, because inflight bounds the number of uncommitted outcomes.
func (r *recorder) add(rec record) {
	r.mu.Lock()
	r.pending = append(r.pending, rec)
	ask := r.due()
	if !r.asked && len(r.pending) == 1 {
		r.began = time.Now()
		r.timer.Reset(gatherFor)
	}
	r.mu.Unlock()
	if ask {
		r.ask()
	}
}

// due reports whether to ask the writer to record the pending outcomes now. If so, it marks the writer as asked. With a
// replica, a waiting connection gets a slot only after the replica has the previous commit. Outcomes gather until then,
// because each commit sends a file to the replica. due does not wait if enough outcomes are pending, or if no more
// replies can arrive. The caller holds the lock.
func (r *recorder) due() bool {
	if r.asked || len(r.pending) == 0 {
		return false
	}
	if r.waiting.Load() == 0 {
		r.asked = r.worthCommit()
		return r.asked
	}
	away := 0
	if r.store.Acknowledges() {
		away = len(r.flight) + r.unkept
	}
	r.asked = away == 0 || len(r.pending) >= r.enough || len(r.pending)+away >= r.inflight.used()
	return r.asked
}

// look asks the writer to record the pending outcomes if they are due.
func (r *recorder) look() {
	r.mu.Lock()
	ask := !r.gone && r.due()
	r.mu.Unlock()
	if ask {
		r.ask()
	}
}

// worthCommit reports whether enough outcomes are pending, or arrived fast enough. The caller holds the lock.
func (r *recorder) worthCommit() bool {
	n := len(r.pending)
	return n >= r.enough && (n >= 2*r.enough || time.Since(r.began) < fast)
}

// hurry makes the writer record all pending outcomes, however few. A connection adds itself to waiting before it calls
// hurry. Thus either hurry finds the outcome that frees a slot, or add sees the waiting connection when that outcome
// arrives.
func (r *recorder) hurry() {
	r.mu.Lock()
	ask := !r.asked && !r.gone && len(r.pending) > 0
	r.asked = r.asked || ask
	r.mu.Unlock()
	if ask {
		r.ask()
	}
}

// ask asks the writer to take the pending outcomes.
func (r *recorder) ask() {
	if err := r.store.FinishLater(r.take, r.written); err != nil {
		r.mu.Lock()
		r.asked = false
		r.retry(err)
		r.mu.Unlock()
	}
}

// take hands the pending outcomes to the writer.
func (r *recorder) take() ([]core.Outcome, core.Instant) {
	r.mu.Lock()
	r.pending, r.flight = r.flight[:0], r.pending
	r.asked, r.taken = false, true
	r.mu.Unlock()
	r.batch = r.batch[:0]
	for i := range r.flight {
		r.batch = append(r.batch, r.flight[i].Outcome)
	}
	return r.batch, core.At(time.Now())
}

// written handles the result of a commit. It retries a failed commit until it succeeds, because outcomes must not be
// lost. While the database can't be written, the slots run out and sending pauses.
func (r *recorder) written(err error) {
	if err == nil {
		r.free()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.pending = append(slices.Clone(r.flight), r.pending...)
		r.asked = r.asked && r.taken // requests from before the failed start of the transaction have been served
		r.retry(err)
	} else {
		r.wait = 0
	}
	clear(r.flight)
	r.flight, r.taken = r.flight[:0], false
	r.changed.Broadcast()
}

// free frees the slots of recorded outcomes. With a replica, it first waits until the replica has them, so that a dying
// machine loses at most as many outcomes as there are slots.
func (r *recorder) free() {
	if !r.store.Acknowledges() {
		r.release(r.flight)
		return
	}
	recs := slices.Clone(r.flight)
	r.mu.Lock()
	r.unkept += len(recs)
	r.mu.Unlock()
	r.store.OnceAcknowledged(func(err error) {
		if err != nil {
			return
		}
		r.mu.Lock()
		r.unkept -= len(recs)
		r.mu.Unlock()
		r.release(recs)
		r.look()
	})
}

// retry asks the writer again after a pause. It does nothing if the writer was already asked, because there must not be
// two requests. The caller holds the lock.
func (r *recorder) retry(err error) {
	r.log.Error("send: outcomes cannot be recorded", slog.Int("outcomes", len(r.pending)), slog.Any("error", err))
	r.wait = min(max(2*r.wait, recordRetry), recordRetryMax)
	if !r.asked && !r.gone {
		r.asked = true
		time.AfterFunc(r.wait, r.ask)
	}
	r.changed.Broadcast()
}

// flush waits until all added outcomes are committed. Once ctx has ended, it returns on the next failure.
func (r *recorder) flush(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() { r.mu.Lock(); r.changed.Broadcast(); r.mu.Unlock() })
	defer stop()
	r.mu.Lock()
	r.enough = 0
	r.mu.Unlock()
	r.hurry()
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.pending)+len(r.flight) > 0 && (r.wait == 0 || ctx.Err() == nil) {
		r.changed.Wait()
	}
	r.gone = true
	r.timer.Stop()
}

// release frees the slots of recorded items. It returns ambiguous items to the dispatcher, and counts the recorded
// outcomes of each job.
func (r *recorder) release(recs []record) {
	run := 0 // adjacent records mostly belong to the same job
	for i := range recs {
		it := recs[i].it
		r.inflight.free(it)
		if recs[i].State == core.RecipientDeferred {
			it.job.deferred.Store(true)
		}
		if recs[i].State == core.RecipientQueued { // ambiguous: send again
			it.Ambiguous++
			r.dispatcher.giveBack(it)
		} else {
			run++
		}
		if i+1 == len(recs) || recs[i+1].it.job != it.job {
			r.dispatcher.settled(it.job, run)
			run = 0
		}
	}
}
