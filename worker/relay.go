package worker

import (
	"context"
	"sync"
	"time"

	"newsletterd/mail/smtp"
)

// relayState remembers how one relay is doing. While it is down nobody uses it; after each pause one connection tries alone,
// and the others follow once a message was answered. Ways of one group share the lock: each waits until those before it are
// down, or have used up the day's quota.
type relayState struct {
	pace    *pace // nil: no limit
	mu      *sync.Mutex
	changed *sync.Cond
	before  []*relayState
	over    *flag     // nothing is left to do: nobody waits any more
	fails   int       // running
	downAt  time.Time // of the first of them
	until   time.Time // nobody tries before
	probing bool
	round   uint64 // counts failures that were taken note of
}

func newRelayState(mu *sync.Mutex, changed *sync.Cond, before []*relayState, over *flag, p *pace) relayState {
	return relayState{pace: p, mu: mu, changed: changed, before: before, over: over}
}

// enter waits until the relay may be used; false when ctx has ended or nothing is left to do. round belongs to the later call of failed.
func (r *relayState) enter(ctx context.Context) (round uint64, ok bool) {
	stop := context.AfterFunc(ctx, r.wake)
	defer stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		switch wait := time.Until(r.until); {
		case ctx.Err() != nil || r.over.Load():
			return 0, false
		case !r.turn():
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

// turn tells whether all relays before this one are down or have no quota left.
func (r *relayState) turn() bool {
	for _, b := range r.before {
		if b.fails == 0 && b.pace.spentUntil(time.Now()).IsZero() {
			return false
		}
	}
	return true
}

// serves tells whether a connection may go on: the first of its group always, another until one before it works again.
func (r *relayState) serves() bool {
	if len(r.before) == 0 {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.turn()
}

func (r *relayState) wake() {
	r.mu.Lock()
	r.changed.Broadcast()
	r.mu.Unlock()
}

// worked notes that the server took or judged a message: the relay is open. It tells whether it was down.
func (r *relayState) worked() (again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails == 0 {
		return false
	}
	r.fails, r.probing = 0, false
	r.changed.Broadcast()
	return true
}

// left notes that a connection has stopped using the relay without a failure.
func (r *relayState) left() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.probing {
		r.probing = false
		r.changed.Broadcast()
	}
}

// failed notes a failure and returns the pause that follows. Failures of connections that began before the last one was noted are the
// same event: 16 connections that break at once count once.
func (r *relayState) failed(e *smtp.RelayError, round uint64, now time.Time) (pause time.Duration, fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if round != r.round {
		return time.Until(r.until), false
	}
	if r.fails == 0 || lostBehindMail(e) {
		r.downAt = now
	}
	r.fails++
	r.round++
	r.probing = false
	pause = e.Backoff(r.fails)
	r.until = now.Add(pause)
	r.changed.Broadcast()
	return pause, true
}

// lostBehindMail tells of a connection that broke over a recipient: the relay was there, and a recipient whose connections always
// break ends by its own tries. So the route is not given up for it.
func lostBehindMail(e *smtp.RelayError) bool {
	if e.Fault != smtp.FaultConnect {
		return false
	}
	switch e.Stage {
	case "RCPT", "DATA", "content", "dot":
		return true
	}
	return false
}
