package worker

import (
	"time"

	"golang.org/x/time/rate"

	"newsletterd/core"
)

// pace enforces the send limits of a relay or tenant. The dispatcher's lock guards it.
type pace struct {
	scope  string // "relay", "relay:" and its id, or "tenant:" and its id
	limits core.SendLimits
	bucket *rate.Limiter // nil: no limit per second
	period *period       // nil: no limit per period
	quota  *quota        // nil: no limit per day
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

// far is the wait that ready returns if the wait ends with an event instead of at a known time.
const far = time.Hour

// ready returns when the next message may be sent. A time that is not after now means immediately.
func (p *pace) ready(now time.Time) time.Time {
	at := now
	if p.bucket != nil {
		if t := p.bucket.TokensAt(now); t < 1-1e-6 { // tolerates rounding errors
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

// wants reports whether limits should lease more messages for the pace from the database.
func (p *pace) wants() bool {
	return p.quota != nil && p.quota.wants || p.period != nil && p.period.wants
}

// spentUntil returns when a used-up daily quota resets, or zero if there is quota left.
func (p *pace) spentUntil(now time.Time) time.Time {
	if p == nil || p.quota == nil || p.quota.overDay.Load() != dayOf(now) {
		return time.Time{}
	}
	return endOfDay(dayOf(now))
}

// take counts a message sent at now.
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
