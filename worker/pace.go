package worker

import (
	"time"

	"golang.org/x/time/rate"

	"newsletterd/core"
)

// pace bounds the messages of a relay or of a tenant. The dispatcher's lock guards it.
type pace struct {
	scope  string // "relay", "relay:" and its id, "tenant:" and its id
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

// far is how long a pace waits that is waked by something else.
const far = time.Hour

// ready returns when the next message may go. An instant that is not after now means now.
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

// wants reports whether limits is to take more out of the file.
func (p *pace) wants() bool {
	return p.quota != nil && p.quota.wants || p.period != nil && p.period.wants
}

// spentUntil returns when a day's quota that is used up begins anew; zero: there is some left.
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
