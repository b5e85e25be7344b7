package worker

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"newsletterd/mail/smtp"
)

// flag is a switch that many read.
type flag = atomic.Bool

// tally counts what came of the messages of one relay.
type tally struct {
	sent   atomic.Int64
	mu     sync.Mutex
	others map[OutcomeKind]int64
	faults map[string]int64
}

// OutcomeKind tells outcomes apart as far as figures do: the result, and the class and subject of the enhanced status code
// (RFC 3463), as "4.2"; of a reply without one the class of its basic code, as "4".
type OutcomeKind struct{ Result, Class string }

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

func (t *tally) fault(f smtp.Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.faults == nil {
		t.faults = map[string]int64{}
	}
	t.faults[f.String()]++
}

// RouteFigures are the figures of one relay since the start.
type RouteFigures struct {
	Tenant, Name string    // Tenant is empty for the daemon's own
	Fails        int       // running
	Until        time.Time // nobody tries before, while it is down
	Outcomes     map[OutcomeKind]int64
	Faults       map[string]int64
}

// Figures are the sender's figures at this moment.
type Figures struct {
	Routes     []RouteFigures
	Queued     int            // recipients claimed and not handed out
	InHand     int            // handed out, without a recorded outcome
	Unrecorded int            // slots of max_unrecorded in use
	Slowed     map[string]int // destinations that are slowed down, by the tenant of the relays; empty: the daemon's own
}

// Figures reads the sender's figures.
func (s *Sender) Figures() Figures {
	var f Figures
	s.groupsMu.Lock()
	groups := []*relayGroup{s.shared}
	for _, g := range s.groups {
		groups = append(groups, g)
	}
	s.groupsMu.Unlock()
	for _, g := range groups {
		for _, w := range g.relays {
			f.Routes = append(f.Routes, w.figures())
		}
	}
	slices.SortFunc(f.Routes, func(a, b RouteFigures) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Name, b.Name))
	})
	s.dispatcher.mu.Lock()
	defer s.dispatcher.mu.Unlock()
	for _, j := range s.dispatcher.jobs {
		f.Queued += j.waiting() + j.aside
		f.InHand += j.out - j.waiting() - j.aside
	}
	f.Unrecorded = len(s.inflight)
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

func (r *relay) figures() RouteFigures {
	f := RouteFigures{Tenant: r.group.owner, Name: r.name, Outcomes: map[OutcomeKind]int64{}, Faults: map[string]int64{smtp.FaultConnect.String(): 0}}
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
