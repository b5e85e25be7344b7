package worker

import (
	"context"
	"sync"
)

// inflight is the semaphore of max_unrecorded: a message takes a slot before its content is written and frees it after
// the commit of its outcome. So at any moment at most that many messages may have been accepted without a record.
type inflight struct {
	slots chan struct{} // one element for each slot in use

	shared flag // there is more than one relay group: each gets its share
	mu     sync.Mutex
	room   *sync.Cond
	total  int // messages without a reply, of all groups
}

func newInflight(size int) *inflight {
	f := &inflight{slots: make(chan struct{}, size)}
	f.room = sync.NewCond(&f.mu)
	return f
}

// take waits for a slot for an item, and reports whether it has one. It has none where ctx has ended before.
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

// takeNow takes a slot for an item that follows others in a write, where one is free at once, and reports whether it has
// one. An eighth of the slots is left to the first mails of connections: where hosts of a relay hang, and hold all that
// was written to them at once, the other connections go on with these.
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

// wait waits until a slot is taken or ctx has ended, and reports whether one is taken. Meanwhile outcomes are recorded
// without waiting for others.
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

// free frees the slot of an item, if it has one.
func (f *inflight) free(it *item) {
	if it.slot {
		it.slot = false
		<-f.slots
	}
}

// used returns how many slots are in use.
func (f *inflight) used() int { return len(f.slots) }

// enter counts a message among those of its group without a reply, once there is room. A group may have as many as are
// left to all others, so that a relay that never answers does not stop the others. enter reports whether it has counted
// the message: not where ctx has ended before.
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

// enterNow is enter where there is room at once, and reports whether there was.
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

// full reports whether a group has no room for a message. mu is held.
func (f *inflight) full(g *relayGroup) bool {
	size := cap(f.slots)
	return g.unanswered > 0 && g.unanswered >= size-f.total || f.total >= size
}

// answered notes that an item's message has a reply, or was not sent.
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
