package worker

import (
	"context"
	"sync"
)

// inflight is the semaphore that enforces max_unrecorded. A message takes a slot before its content is written and
// frees the slot after its outcome is committed. Relays thus never have accepted more than max_unrecorded messages
// without a recorded outcome.
type inflight struct {
	slots chan struct{} // one element for each slot in use

	shared flag // more than one relay group exists, and each gets its share
	mu     sync.Mutex
	room   *sync.Cond
	total  int // messages without a reply, in all groups
}

func newInflight(size int) *inflight {
	f := &inflight{slots: make(chan struct{}, size)}
	f.room = sync.NewCond(&f.mu)
	return f
}

// take waits for a slot for an item, and reports whether it got one. It returns false if ctx ends first.
func (f *inflight) take(ctx context.Context, g *relayGroup, it *item, rec *recorder) bool {
	if f.shared.Load() {
		if !f.enter(ctx, g) {
			return false
		}
		it.gated = true
	}
	select {
	case f.slots <- struct{}{}:
	default:
		if !f.wait(ctx, rec) {
			return false
		}
	}
	it.slot = true
	return true
}

// takeNow takes a slot for a pipelined item if one is free, and reports whether it got one. It leaves an eighth of the
// slots for the first email of each connection. If some hosts of a relay hang and hold many pipelined emails, the other
// connections can continue with these slots.
func (f *inflight) takeNow(g *relayGroup, it *item) bool {
	if len(f.slots) >= cap(f.slots)-cap(f.slots)/8 {
		return false
	}
	shared := f.shared.Load()
	if shared && !f.enterNow(g) {
		return false
	}
	it.gated = shared
	select {
	case f.slots <- struct{}{}:
		it.slot = true
		return true
	default:
		f.answered(g, it)
		return false
	}
}

// wait waits for a slot until ctx ends, and reports whether it has taken one. While it waits, outcomes are recorded
// without waiting for a full batch.
func (f *inflight) wait(ctx context.Context, rec *recorder) bool {
	rec.waiting.Add(1)
	defer rec.waiting.Add(-1)
	rec.look()
	select {
	case f.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// free frees the slot that an item holds, if any.
func (f *inflight) free(it *item) {
	if it.slot {
		it.slot = false
		<-f.slots
	}
}

// used returns the number of slots in use.
func (f *inflight) used() int { return len(f.slots) }

// enter waits until the group has room for another unanswered message, and then counts the message. A group may have at
// most as many unanswered messages as it leaves for all other groups, so a relay that never replies doesn't stop the
// others. enter reports whether there was room before ctx ended.
func (f *inflight) enter(ctx context.Context, g *relayGroup) bool {
	stop := context.AfterFunc(ctx, func() {
		f.mu.Lock()
		f.room.Broadcast()
		f.mu.Unlock()
	})
	defer stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.full(g) {
		if ctx.Err() != nil {
			return false
		}
		f.room.Wait()
	}
	g.unanswered++
	f.total++
	return true
}

// enterNow is like enter, but doesn't wait. It reports whether there was room.
func (f *inflight) enterNow(g *relayGroup) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full(g) {
		return false
	}
	g.unanswered++
	f.total++
	return true
}

// full reports whether a group has no room for another unanswered message. The caller holds f.mu.
func (f *inflight) full(g *relayGroup) bool {
	size := cap(f.slots)
	return g.unanswered > 0 && g.unanswered >= size-f.total || f.total >= size
}

// answered records that an item's message is no longer unanswered: it got a reply, or was not sent.
func (f *inflight) answered(g *relayGroup, it *item) {
	if !it.gated {
		return
	}
	it.gated = false
	f.mu.Lock()
	g.unanswered--
	f.total--
	f.mu.Unlock()
	f.room.Broadcast()
}
