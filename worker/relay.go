package worker

import (
	"context"
	"runtime"
	"sync"
	"time"

	"newsletterd/mail/smtp"
)

// relay is a mail server through which emails are sent, with its settings, state and figures.
type relay struct {
	relayState
	group       *relayGroup
	name        string
	sender      smtp.Sender
	connections int
	ahead       int      // number of emails that a connection has signed in advance
	skip        []string // header fields that the relay changes
	provider    string   // kind of email provider that it belongs to; empty: none
	tally       tally
}

// signAhead returns how many emails each connection should have signed in advance, so that all CPUs are used.
func signAhead(connections int) int { return 2 + runtime.GOMAXPROCS(0)/connections }

// relayState is a relay's availability. While the relay is down, no connection uses it. After each pause, one
// connection tries, and the others follow when a message gets a reply. A group's relays share the lock. Each waits
// until the earlier ones are down or have used up their daily quota.
type relayState struct {
	pace    *pace // nil: no limit
	mu      *sync.Mutex
	changed *sync.Cond
	before  []*relayState
	over    *flag     // no work is left, so connections stop waiting
	fails   int       // consecutive failures
	downAt  time.Time // time of the first of these failures, except those that recipients caused
	closed  string    // address that caused all these failures, because its transactions ended with 421; empty: none
	until   time.Time // no connection tries before this time
	probing bool      // one connection is trying
	round   uint64    // number of failures recorded so far
}

func newRelayState(mu *sync.Mutex, changed *sync.Cond, before []*relayState, over *flag, p *pace) relayState {
	return relayState{pace: p, mu: mu, changed: changed, before: before, over: over}
}

// enter waits until a connection may use the relay. It returns false if ctx ends or no work is left. The caller must
// pass the returned round to failed.
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

// turn reports whether this relay is the one to use: all earlier relays are down or have no quota left. The caller
// holds the lock.
func (r *relayState) turn() bool {
	for _, b := range r.before {
		if b.fails == 0 && b.pace.spentUntil(time.Now()).IsZero() {
			return false
		}
	}
	return true
}

// serves reports whether a connection may continue to use the relay. It always may for a group's first relay, and for
// other relays until an earlier one works again.
func (r *relayState) serves() bool {
	if len(r.before) == 0 {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.turn()
}

// wake wakes the connections that are waiting for a relay in the group.
func (r *relayState) wake() {
	r.mu.Lock()
	r.changed.Broadcast()
	r.mu.Unlock()
}

// worked records that the relay accepted or rejected a message, and so is available. It reports whether the relay had
// been down.
func (r *relayState) worked() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails == 0 {
		return false
	}
	r.fails, r.probing = 0, false
	r.changed.Broadcast()
	return true
}

// left records that a connection has stopped using the relay, but not because of a failure.
func (r *relayState) left() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.probing {
		r.probing = false
		r.changed.Broadcast()
	}
}

// failed records a failure and returns the pause that follows. If the connection started before the last recorded
// failure, fresh is false: 16 connections that break together count as one failure. closed is the address whose
// transaction ended with 421; empty: none. If only one address is affected, it eventually fails, like an address that
// breaks every connection. If several are, the relay is down.
func (r *relayState) failed(
	e *smtp.RelayError, closed string, round uint64, now time.Time,
) (pause time.Duration, fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if round != r.round {
		return time.Until(r.until), false
	}
	if r.fails == 0 {
		r.closed = closed
	} else if r.closed != closed {
		r.closed = ""
	}
	if r.fails == 0 || r.closed != "" || lostAfterMAIL(e) {
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

// lostAfterMAIL reports whether a connection broke during a recipient's transaction. In that case the relay was
// available, so its jobs continue. A recipient that breaks every connection eventually fails.
func lostAfterMAIL(e *smtp.RelayError) bool {
	if e.Fault != smtp.FaultConnect {
		return false
	}
	switch e.Stage {
	case "RCPT", "DATA", "content", "dot":
		return true
	}
	return false
}
