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

// record is an outcome on its way into the file.
type record struct {
	store.Outcome
	it *item
}

// The pauses after outcomes could not be recorded.
const (
	recordRetry    = 50 * time.Millisecond
	recordRetryMax = 5 * time.Second
)

// gatherFor is how long outcomes wait for others while no connection waits for a slot.
const gatherFor = 25 * time.Millisecond

// fast is within what outcomes must have come to be recorded when they are enough. Where they come slower, as those of mails that are
// signed, the connections need no slot soon, and twice as many go into a commit.
const fast = 5 * time.Millisecond

// recorder hands outcomes to the store's writer, which takes whatever has gathered when its transaction begins, and frees
// the max_unrecorded slots after the commit, never before. No goroutine stands between: each would be a
// wait for every slot. A commit costs as much as the outcomes of some hundred mails, so the writer is asked when a good part of
// max_unrecorded has gathered, or as soon as a connection waits for a slot.
type recorder struct {
	s       *Sender
	mu      sync.Mutex
	changed *sync.Cond
	pending []record     // not yet taken
	flight  []record     // taken by the writer, not yet committed
	began   time.Time    // when the first of them came
	enough  int          // so many are a commit worth
	waiting atomic.Int32 // connections that wait for a slot
	timer   *time.Timer  // of gatherFor
	asked   bool         // the writer will take what is pending
	taken   bool         // by the transaction under way
	gone    bool         // nobody waits for it any more: what fails is not tried again
	wait    time.Duration

	batch []store.Outcome // the writer's
}

func newRecorder(s *Sender) *recorder {
	r := &recorder{s: s, enough: max(s.opts.MaxUnrecorded/4, s.opts.MaxUnrecorded/2-s.opts.Connections)}
	r.changed = sync.NewCond(&r.mu)
	r.timer = time.AfterFunc(time.Hour, r.hurry)
	r.timer.Stop()
	return r
}

// add hands an outcome over. It does not wait for the commit: max_unrecorded bounds how many can.
func (r *recorder) add(rec record) {
	r.mu.Lock()
	r.pending = append(r.pending, rec)
	ask := !r.asked && (r.waiting.Load() > 0 || len(r.pending) >= r.enough && (len(r.pending) >= 2*r.enough || time.Since(r.began) < fast))
	r.asked = r.asked || ask
	if !r.asked && len(r.pending) == 1 {
		r.began = time.Now()
		r.timer.Reset(gatherFor)
	}
	r.mu.Unlock()
	if ask {
		r.ask()
	}
}

// hurry has recorded what has gathered, however little it is. A connection that is to wait counts itself among the waiting before:
// so either it finds the outcome here that frees its slot, or whoever adds that one sees it waiting.
func (r *recorder) hurry() {
	r.mu.Lock()
	ask := !r.asked && !r.gone && len(r.pending) > 0
	r.asked = r.asked || ask
	r.mu.Unlock()
	if ask {
		r.ask()
	}
}

func (r *recorder) ask() {
	if err := r.s.store.FinishLater(r.take, r.written); err != nil {
		r.mu.Lock()
		r.asked = false
		r.retry(err)
		r.mu.Unlock()
	}
}

// take gives the writer what is pending.
func (r *recorder) take() ([]store.Outcome, core.Instant) {
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

// written is told how the commit went. What was sent must not be forgotten: it is tried until it succeeds. While the file
// can't be written the slots run out, and so the sending pauses by itself.
func (r *recorder) written(err error) {
	if err == nil {
		r.release(r.flight)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.pending = append(slices.Clone(r.flight), r.pending...)
		r.asked = r.asked && r.taken // what was asked before the transaction failed to begin is answered
		r.retry(err)
	} else {
		r.wait = 0
	}
	clear(r.flight)
	r.flight, r.taken = r.flight[:0], false
	r.changed.Broadcast()
}

// retry asks the writer again after a pause, unless it was asked meanwhile: two questions at once would be two for ever.
func (r *recorder) retry(err error) {
	r.s.opts.Log.Error("send: outcomes cannot be recorded", slog.Int("outcomes", len(r.pending)), slog.Any("error", err))
	r.wait = min(max(2*r.wait, recordRetry), recordRetryMax)
	if !r.asked && !r.gone {
		r.asked = true
		time.AfterFunc(r.wait, r.ask)
	}
	r.changed.Broadcast()
}

// flush returns when all that was added is committed, or, once ctx has ended, when that has failed.
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

// release frees slots, hands ambiguous ones back and tells the dispatcher how many have an outcome, job by job.
func (r *recorder) release(recs []record) {
	run := 0 // neighbors are mostly of the same job
	for i := range recs {
		it := recs[i].it
		r.s.freeSlot(it)
		if recs[i].State == store.RecipientQueued { // ambiguous: once more
			it.Ambiguous++
			r.s.dispatcher.giveBack(it)
		} else {
			run++
		}
		if i+1 == len(recs) || recs[i+1].it.job != it.job {
			r.s.dispatcher.settled(it.job, run)
			run = 0
		}
	}
}
