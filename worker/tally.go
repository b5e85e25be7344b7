package worker

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"newsletterd/mail/smtp"
)

// flag is a bool that is read without a lock.
type flag = atomic.Bool

// tally counts what came of the messages of one relay.
type tally struct {
	sent   atomic.Int64
	mu     sync.Mutex
	others map[OutcomeKind]int64
	faults map[string]int64
}

// OutcomeKind is what figures count outcomes by: the result, and the class and subject of the enhanced status code
// (RFC 3463 section 2), as "4.2". Of a reply without one it is the class of the basic code, as "4".
type OutcomeKind struct{ Result, Class string }

// count counts an outcome.
func (t *tally) count(o smtp.Outcome) {
	if o.Result == smtp.Sent {
		t.sent.Add(1)
		return
	}
	k := OutcomeKind{Result: o.Result.String()}
	switch {
	case len(o.Enhanced) > 3 && o.Enhanced[3] == '.':
		k.Class = o.Enhanced[:3]
	case o.Code != 0:
		k.Class = string(rune('0' + o.Code/100))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.others == nil {
		t.others = map[OutcomeKind]int64{}
	}
	t.others[k]++
}

// fault counts an end of a session.
func (t *tally) fault(f smtp.Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.faults == nil {
		t.faults = map[string]int64{}
	}
	t.faults[f.String()]++
}

// RelayFigures is the figures of one relay since the start.
type RelayFigures struct {
	Tenant, Name string    // Tenant is empty for the daemon's own
	Fails        int       // running
	Until        time.Time // no connection tries before, while it is down
	Outcomes     map[OutcomeKind]int64
	Faults       map[string]int64
}

// Figures is the sender's figures at one moment.
type Figures struct {
	Relays     []RelayFigures
	Queued     int            // recipients claimed and not handed out
	InHand     int            // handed out, without a recorded outcome
	Unrecorded int            // slots of max_unrecorded in use
	Slowed     map[string]int // destinations that are slowed down, by the tenant of the relays; empty: the daemon's own
}

// Figures reads the sender's figures.
func (s *Sender) Figures() Figures {
	var f Figures
	groups := s.relays.all()
	for _, g := range groups {
		for _, w := range g.relays {
			f.Relays = append(f.Relays, w.figures())
		}
	}
	slices.SortFunc(f.Relays, func(a, b RelayFigures) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Name, b.Name))
	})
	s.dispatcher.mu.Lock()
	defer s.dispatcher.mu.Unlock()
	for _, j := range s.dispatcher.jobs {
		f.Queued += j.waiting() + j.parked
		f.InHand += j.out - j.waiting() - j.parked
	}
	f.Unrecorded = s.inflight.used()
	f.Slowed = map[string]int{}
	for _, g := range groups {
		for _, t := range g.throttled {
			if t.bucket != nil {
				f.Slowed[g.owner]++
			}
		}
	}
	return f
}

// figures reads the figures of the relay.
func (r *relay) figures() RelayFigures {
	f := RelayFigures{
		Tenant: r.group.owner, Name: r.name, Outcomes: map[OutcomeKind]int64{},
		Faults: map[string]int64{smtp.FaultConnect.String(): 0},
	}
	r.mu.Lock()
	f.Fails, f.Until = r.fails, r.until
	r.mu.Unlock()
	t := &r.tally
	f.Outcomes[OutcomeKind{Result: smtp.Sent.String()}] = t.sent.Load()
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, n := range t.others {
		f.Outcomes[k] = n
	}
	for k, n := range t.faults {
		f.Faults[k] = n
	}
	return f
}
