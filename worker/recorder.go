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

// The pauses after outcomes could not be recorded.
const (
	recordRetry    = 50 * time.Millisecond
	recordRetryMax = 5 * time.Second
)

// gatherFor is how long outcomes wait for others while no connection waits for a slot.
const gatherFor = 25 * time.Millisecond

// fast is how soon enough outcomes must have come to be recorded then. Where they come slower, as those of signed
// mails do, the connections need no slot soon, and twice as many go into a commit.
const fast = 5 * time.Millisecond

// recorder gives outcomes to the store's writer, which takes all that have gathered when its transaction begins, and
// frees their slots of inflight after the commit, never before. No goroutine stands between: each would be a wait for
// every slot. A commit costs as much as the outcomes of some hundred mails, so the writer is asked when a good part of
// max_unrecorded has gathered, or as soon as a connection waits for a slot.
type recorder struct {
	store      *store.Store
	inflight   *inflight
	dispatcher *dispatcher
	log        *slog.Logger

	mu      sync.Mutex
	changed *sync.Cond
	pending []record      // not yet taken
	flight  []record      // taken by the writer, not yet committed
	unkept  int           // committed, not yet in the replica; 0 where none is waited for
	began   time.Time     // when the first of them came
	enough  int           // so many are a commit worth
	waiting atomic.Int32  // connections that wait for a slot
	timer   *time.Timer   // of gatherFor
	asked   bool          // the writer will take what is pending
	taken   bool          // by the transaction under way
	gone    bool          // flush has returned: what fails is not tried again
	wait    time.Duration // after the last failure, until the next try

	batch []core.Outcome // the writer's
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

// add hands an outcome over. It does not wait for the commit: inflight bounds how many are without one.
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

// due reports whether the writer is to be asked now, and notes that it is. The lock is held. With a replica, a
// connection that waits for a slot gets one when the replica has what was committed before; what comes until then
// gathers, for each commit is a file on its way there too. Nothing gathers where no more replies can come until then.
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

// look asks the writer if that is due.
func (r *recorder) look() {
	r.mu.Lock()
	ask := !r.gone && r.due()
	r.mu.Unlock()
	if ask {
		r.ask()
	}
}

// worthCommit reports whether enough outcomes are pending, or have come fast enough. The lock is held.
func (r *recorder) worthCommit() bool {
	n := len(r.pending)
	return n >= r.enough && (n >= 2*r.enough || time.Since(r.began) < fast)
}

// hurry has what has gathered recorded, however little it is. A connection counts itself among the waiting before it
// calls hurry: either hurry finds the outcome that frees its slot, or the add of that outcome sees the connection
// waiting.
func (r *recorder) hurry() {
	r.mu.Lock()
	ask := !r.asked && !r.gone && len(r.pending) > 0
	r.asked = r.asked || ask
	r.mu.Unlock()
	if ask {
		r.ask()
	}
}

// ask asks the writer to take what is pending.
func (r *recorder) ask() {
	if err := r.store.FinishLater(r.take, r.written); err != nil {
		r.mu.Lock()
		r.asked = false
		r.retry(err)
		r.mu.Unlock()
	}
}

// take gives the writer what is pending.
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

// written notes how the commit went. What was sent must not be forgotten: it is tried until it succeeds. While the
// file can't be written the slots run out, and so the sending pauses by itself.
func (r *recorder) written(err error) {
	if err == nil {
		r.free()
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

// free frees the slots of what was recorded, once the replica has it where there is one: what a machine that dies has
// sent and not told is as many mails as there are slots.
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

// retry asks the writer again after a pause, unless it was asked meanwhile: two questions at once would stay two. The
// lock is held.
func (r *recorder) retry(err error) {
	r.log.Error("send: outcomes cannot be recorded", slog.Int("outcomes", len(r.pending)), slog.Any("error", err))
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

// release frees the slots of recorded items. It gives ambiguous ones back, and notes how many of each job have an
// outcome.
func (r *recorder) release(recs []record) {
	run := 0 // neighbors are mostly of the same job
	for i := range recs {
		it := recs[i].it
		r.inflight.free(it)
		if recs[i].State == core.RecipientQueued { // ambiguous: once more
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
