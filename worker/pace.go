package worker

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"newsletterd/core"
)

// pace bounds what goes out in a time: of a relay, or of a tenant. The dispatcher guards it.
type pace struct {
	scope  string
	limits core.SendLimits
	bucket *rate.Limiter // nil: no limit a second
	period *period       // nil: no limit a period
	quota  *quota        // nil: no limit a day
}

func newPace(scope string, l core.SendLimits) *pace {
	p := &pace{scope: scope, limits: l}
	if l.PerSecond > 0 {
		p.bucket = rate.NewLimiter(rate.Limit(l.PerSecond), max(1, l.PerSecond/20))
	}
	if l.PerPeriod > 0 {
		p.period = newPeriod(l)
	}
	if l.PerDay > 0 {
		p.quota = &quota{perDay: int64(l.PerDay)}
	}
	return p
}

// far is later than anything: something else wakes who waits for it.
const far = time.Hour

// ready is when the next message may go: not after now, if it may go now.
func (p *pace) ready(now time.Time) time.Time {
	at := now
	if p.bucket != nil {
		if t := p.bucket.TokensAt(now); t < 1-1e-6 { // it computes in fractions
			at = now.Add(time.Duration((1-t)/float64(p.bucket.Limit())*float64(time.Second)) + 1)
		}
	}
	if p.period != nil {
		if t := p.period.ready(now); t.After(at) {
			at = t
		}
	}
	if p.quota != nil {
		if t := p.quota.ready(now); t.After(at) {
			at = t
		}
	}
	return at
}

// wants tells whether the claimer is to ask the file.
func (p *pace) wants() bool {
	return p.quota != nil && p.quota.wants || p.period != nil && p.period.wants
}

// spentUntil is when a day's quota that is used up begins anew; zero: there is some left.
func (p *pace) spentUntil(now time.Time) time.Time {
	if p == nil || p.quota == nil || p.quota.overDay.Load() != dayOf(now) {
		return time.Time{}
	}
	return endOfDay(dayOf(now))
}

// take counts a message that goes now.
func (p *pace) take(now time.Time) {
	if p.bucket != nil {
		p.bucket.ReserveN(now, 1)
	}
	if p.period != nil {
		p.period.take(now)
	}
	if p.quota != nil {
		p.quota.left--
	}
}

// paces keeps the paces of relays and tenants beyond the end of a step: a pause does not make anybody faster.
type paces struct {
	mu   sync.Mutex
	kept map[string]*pace
}

// of is the pace of a scope; nil: no limit.
func (p *paces) of(scope string, l core.SendLimits) *pace {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l == (core.SendLimits{}) {
		return nil
	}
	if p.kept == nil {
		p.kept = map[string]*pace{}
	}
	k := p.kept[scope]
	if k == nil || k.limits != l {
		k = newPace(scope, l)
		p.kept[scope] = k
	}
	return k
}

// all are those that are counted in the file.
func (p *paces) all() []*pace {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]*pace, 0, len(p.kept))
	for _, k := range p.kept {
		if k.quota != nil || k.period != nil {
			out = append(out, k)
		}
	}
	return out
}
