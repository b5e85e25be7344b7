package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

// record is an outcome on its way into the file.
type record struct {
	store.Outcome
	it *item
}

// recorder writes outcomes in batches: whatever has gathered while the last batch was committed. Slots of the
// max_unrecorded window are freed after the commit, never before.
type recorder struct {
	s       *Sender
	mu      sync.Mutex
	pending []record
	wake    chan struct{}
	quit    chan struct{}
	stopped chan struct{}
	batch   []store.Outcome
	free    []record
}

func newRecorder(s *Sender) *recorder {
	return &recorder{s: s, wake: make(chan struct{}, 1), quit: make(chan struct{}), stopped: make(chan struct{})}
}

// add hands an outcome over. It never blocks: the window bounds how many can wait.
func (r *recorder) add(rec record) {
	r.mu.Lock()
	r.pending = append(r.pending, rec)
	first := len(r.pending) == 1
	r.mu.Unlock()
	if first {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

func (r *recorder) take() []record {
	r.mu.Lock()
	defer r.mu.Unlock()
	recs := r.pending
	r.pending, r.free = r.free[:0], recs
	return recs
}

// run records until close was called and nothing is left, or ctx is cut.
func (r *recorder) run(ctx context.Context) {
	defer close(r.stopped)
	for {
		recs := r.take()
		if len(recs) > 0 {
			if !r.write(ctx, recs) {
				return
			}
			continue
		}
		select {
		case <-r.wake:
		case <-r.quit:
			if recs := r.take(); len(recs) > 0 {
				r.write(ctx, recs)
			}
			return
		}
	}
}

// close ends run after what was added before.
func (r *recorder) close() {
	close(r.quit)
	<-r.stopped
}

// write commits one batch, trying until it succeeds: what was sent must not be forgotten. While the file can't be
// written the window fills up, and so the sending pauses by itself.
func (r *recorder) write(ctx context.Context, recs []record) bool {
	r.batch = r.batch[:0]
	for i := range recs {
		r.batch = append(r.batch, recs[i].Outcome)
	}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := r.s.store.FinishRecipients(context.WithoutCancel(ctx), r.batch, core.At(time.Now()))
		if err == nil {
			break
		}
		r.s.opts.Log.Error("send: outcomes cannot be recorded", slog.Int("outcomes", len(recs)), slog.Any("error", err))
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
	r.release(recs)
	return true
}

// release frees slots, hands ambiguous ones back and tells the feed how many have an outcome, job by job.
func (r *recorder) release(recs []record) {
	run := 0 // neighbors are mostly of the same job
	for i := range recs {
		it := recs[i].it
		r.s.freeSlot(it)
		if recs[i].State == store.RecipientQueued { // ambiguous: once more
			it.Ambiguous++
			r.s.feed.giveBack(it)
		} else {
			run++
		}
		if i+1 == len(recs) || recs[i+1].it.job != it.job {
			r.s.feed.settled(it.job, run)
			run = 0
		}
	}
}
