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

// tally counts the outcomes of one relay's messages.
type tally struct {
	sent   atomic.Int64
	mu     sync.Mutex
	others map[OutcomeKind]int64
	faults map[string]int64
}

// OutcomeKind classifies outcomes for the metrics. Class contains the class and subject of the reply's enhanced status
// code (RFC 3463 section 2), such as "4.2". If the reply has none, Class is the first digit of the reply code, such as
// "4".
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

// fault counts a session that ended with the fault f.
func (t *tally) fault(f smtp.Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.faults == nil {
		t.faults = map[string]int64{}
	}
	t.faults[f.String()]++
}

// RelayFigures holds the figures of one relay since startup.
type RelayFigures struct {
	Tenant, Name string    // Tenant is empty for the daemon's own relay
	Fails        int       // consecutive failures
	Until        time.Time // while it is down, the earliest time of the next try
	Outcomes     map[OutcomeKind]int64
	Faults       map[string]int64
}

// Figures holds the sender's figures at a point in time.
type Figures struct {
	Relays     []RelayFigures
	Queued     int            // claimed recipients that are not handed out
	InHand     int            // recipients handed out without a recorded outcome
	Unrecorded int            // slots of max_unrecorded in use
	Slowed     map[string]int // number of slowed-down destinations by the relays' tenant; empty: the daemon's own
}

// Figures returns the sender's current figures.
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

// figures returns the relay's figures.
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
