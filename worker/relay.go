package worker

import (
	"context"
	"runtime"
	"sync"
	"time"

	"newsletterd/mail/smtp"
)

// relay is a server that mails go to: its settings, its state and its figures.
type relay struct {
	relayState
	group       *relayGroup
	name        string
	sender      smtp.Sender
	connections int
	ahead       int      // mails that a connection lets be signed before it sends them
	skip        []string // header fields that the relay changes
	provider    string   // kind of the mail provider that it belongs to; empty: none
	tally       tally
}

// signAhead returns how many mails each connection lets be signed before it sends them, so that all cores sign.
func signAhead(connections int) int { return 2 + runtime.GOMAXPROCS(0)/connections }

// relayState is whether a relay may be used. While it is down no connection uses it; after each pause one tries alone,
// and the others follow once a message was answered. The relays of a group share the lock: each waits until those
// before it are down, or have used up the quota of the day.
type relayState struct {
	pace    *pace // nil: no limit
	mu      *sync.Mutex
	changed *sync.Cond
	before  []*relayState
	over    *flag     // nothing is left to do: no connection waits any more
	fails   int       // running
	downAt  time.Time // of the first of them
	until   time.Time // no connection tries before
	probing bool      // one tries
	round   uint64    // the number of failures that were noted
}

func newRelayState(mu *sync.Mutex, changed *sync.Cond, before []*relayState, over *flag, p *pace) relayState {
	return relayState{pace: p, mu: mu, changed: changed, before: before, over: over}
}

// enter waits until the relay may be used. It returns false when ctx has ended or nothing is left to do. The round is
// to be given to failed.
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

// turn reports whether all relays before this one are down or have no quota left. The lock is held.
func (r *relayState) turn() bool {
	for _, b := range r.before {
		if b.fails == 0 && b.pace.spentUntil(time.Now()).IsZero() {
			return false
		}
	}
	return true
}

// serves reports whether a connection may go on: to the first relay of a group always, to another one until one before
// it works again.
func (r *relayState) serves() bool {
	if len(r.before) == 0 {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.turn()
}

// wake makes the connections that wait for a relay of the group look again.
func (r *relayState) wake() {
	r.mu.Lock()
	r.changed.Broadcast()
	r.mu.Unlock()
}

// worked notes that the relay took or judged a message, and reports whether it was down before.
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

// left notes that a connection has stopped using the relay without a failure.
func (r *relayState) left() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.probing {
		r.probing = false
		r.changed.Broadcast()
	}
}

// failed notes a failure and returns the pause that follows. Failures of connections that began before the last one was
// noted are the same event (fresh is false): 16 connections that break at once count once.
func (r *relayState) failed(e *smtp.RelayError, round uint64, now time.Time) (pause time.Duration, fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if round != r.round {
		return time.Until(r.until), false
	}
	if r.fails == 0 || lostAfterMAIL(e) {
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

// lostAfterMAIL reports whether a connection broke over a recipient. The relay was there, and a recipient whose
// connections always break fails by its own tries, so the jobs of the relay are not given up for it.
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
