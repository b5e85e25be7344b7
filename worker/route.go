package worker

import (
	"context"
	"sync"
	"time"

	"newsletterd/mail"
)

// routeState remembers how the way out is doing. While it is down nobody uses it; after each pause one lane tries alone,
// and the others follow once a message was answered.
type routeState struct {
	mu      sync.Mutex
	changed *sync.Cond
	fails   int       // running
	downAt  time.Time // of the first of them
	until   time.Time // nobody tries before
	probing bool
	round   uint64 // counts failures that were taken note of
}

func newRouteState() *routeState {
	r := &routeState{}
	r.changed = sync.NewCond(&r.mu)
	return r
}

// enter waits until the route may be used; false when ctx has ended. round belongs to the later call of failed.
func (r *routeState) enter(ctx context.Context) (round uint64, ok bool) {
	stop := context.AfterFunc(ctx, r.wake)
	defer stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		switch wait := time.Until(r.until); {
		case ctx.Err() != nil:
			return 0, false
		case r.fails == 0:
			return r.round, true
		case wait <= 0 && !r.probing:
			r.probing = true
			return r.round, true
		case wait > 0:
			time.AfterFunc(wait, r.wake)
		}
		r.changed.Wait()
	}
}

func (r *routeState) wake() {
	r.mu.Lock()
	r.changed.Broadcast()
	r.mu.Unlock()
}

// worked notes that the server took or judged a message: the way is open.
func (r *routeState) worked() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails > 0 {
		r.fails, r.probing = 0, false
		r.changed.Broadcast()
	}
}

// left notes that a lane has stopped using the route without a failure.
func (r *routeState) left() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.probing {
		r.probing = false
		r.changed.Broadcast()
	}
}

// failed notes a failure and returns the pause that follows, and since when the route is down. Failures of lanes that began
// before the last one was noted are the same event: 16 connections that break at once count once.
func (r *routeState) failed(e *mail.RouteError, round uint64, now time.Time) (pause time.Duration, since time.Time, fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if round != r.round {
		return time.Until(r.until), r.downAt, false
	}
	if r.fails == 0 {
		r.downAt = now
	}
	r.fails++
	r.round++
	r.probing = false
	pause = e.Backoff(r.fails)
	r.until = now.Add(pause)
	r.changed.Broadcast()
	return pause, r.downAt, true
}
