package worker

import (
	"container/heap"
	"log/slog"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"newsletterd/mail/smtp"
)

// A destination that refuses mails for their number (4.7.x, RFC 3463 section 3.8) gets half as many a second, and again
// half until it takes them; then slowly more, until it has what it had.
const (
	throttleAfter  = 10               // such refusals
	throttleShare  = 10               // one of so many replies
	throttleSpan   = time.Minute      // within which they are counted
	throttleLeast  = time.Second      // of counting before a rate can be told
	throttleSettle = 10 * time.Second // after a change, in which replies still tell of the rate before
	raiseAfter     = 5 * time.Minute  // without such a refusal
	raiseBy        = 1.25
	throttleFloor  = 0.1 // messages a second
	throttleMost   = 256 // of the rate before, one part at least: what refuses more is not asked for patience by going slower
	maxThrottles   = 10_000
)

// throttle is a destination that has refused mails for their number: watched, and slowed down if it refuses many.
type throttle struct {
	began            time.Time // of the count
	replies, refused int
	rate             float64       // messages a second
	was              float64       // before it was slowed down
	bucket           *rate.Limiter // nil: not slowed down
	raiseAt          time.Time
}

// throttles tells whether a refusal speaks of too many mails. Greylisting (RFC 6647) says 4.7.1 too, and refuses each stranger once
// at whatever rate.
func throttles(o smtp.Outcome) bool {
	return o.Result == smtp.Later && strings.HasPrefix(o.Enhanced, "4.7.") && !greylisting.MatchString(o.Text)
}

var greylisting = regexp.MustCompile(`(?i)gr[ae]y-?list|postgrey`)

// replied counts a reply for a destination, if its group is watched or the reply gives cause to.
func (s *Sender) replied(g *relayGroup, email string, refused bool) {
	if !refused && !g.throttling.Load() {
		return
	}
	domain := domainOf(email)
	if slowed, to := s.dispatcher.reply(g, domain, refused, time.Now()); slowed {
		s.opts.Log.Warn("send: a destination refuses mails for their number and gets half as many", slog.String("tenant", g.owner),
			slog.String("domain", domain), slog.Float64("per_second", math.Round(100*to)/100))
	}
}

// reply is replied under the lock; slowed tells that the destination's rate was halved.
func (d *dispatcher) reply(g *relayGroup, domain string, refused bool, now time.Time) (slowed bool, to float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := g.throttled[domain]
	switch {
	case t == nil && (!refused || len(g.throttled) >= maxThrottles):
		return false, 0
	case t == nil:
		if g.throttled == nil {
			g.throttled = map[string]*throttle{}
		}
		t = &throttle{began: now}
		g.throttled[domain] = t
		g.throttling.Store(true)
	case now.Sub(t.began) > throttleSpan:
		t.began, t.replies, t.refused = now, 0, 0
	}
	if refused {
		t.raiseAt = now.Add(raiseAfter)
	}
	if now.Before(t.began) {
		return false, 0
	}
	if t.replies++; refused {
		t.refused++
	}
	if span := now.Sub(t.began); t.refused < throttleAfter || t.refused*throttleShare < t.replies || span < throttleLeast {
		return false, 0
	}
	t.halve(now)
	d.retime(g, domain, now)
	return true, t.rate
}

// halve slows a destination down to half of what it was sent lately.
func (t *throttle) halve(now time.Time) {
	seen := float64(t.replies) / now.Sub(t.began).Seconds()
	if t.bucket != nil {
		seen = min(seen, t.rate)
	}
	t.was = max(t.was, seen)
	t.rate = max(seen/2, t.was/throttleMost, throttleFloor)
	t.bucket = rate.NewLimiter(rate.Limit(t.rate), 1)
	t.began, t.replies, t.refused = now.Add(throttleSettle), 0, 0
}

// raise gives destinations that have refused nothing for a while more, and forgets those that have what they had.
func (d *dispatcher) raise(g *relayGroup, now time.Time) {
	if now.Before(g.raiseAt) {
		return
	}
	g.raiseAt = now.Add(throttleSettle)
	for domain, t := range g.throttled {
		if t.bucket == nil {
			if now.Sub(t.began) > throttleSpan {
				delete(g.throttled, domain)
			}
			continue
		}
		if now.Before(t.raiseAt) {
			continue
		}
		for ; !now.Before(t.raiseAt) && t.rate < t.was; t.raiseAt = t.raiseAt.Add(raiseAfter) {
			t.rate *= raiseBy
		}
		t.bucket = rate.NewLimiter(rate.Limit(t.rate), 1)
		if t.rate >= t.was {
			delete(g.throttled, domain)
		}
		d.retime(g, domain, now)
	}
	g.throttling.Store(len(g.throttled) > 0)
}

// due is when a message to an address may go by the relays of a group.
func (d *dispatcher) due(g *relayGroup, email string, now time.Time) time.Time {
	at := now
	if d.domains != nil {
		at = d.domains.reserve(email, now)
	}
	if !g.throttling.Load() {
		return at
	}
	if t := g.throttled[domainOf(email)]; t != nil && t.bucket != nil {
		if own := now.Add(t.bucket.ReserveN(now, 1).DelayFrom(now)); own.After(at) {
			at = own
		}
	}
	return at
}

// retime gives those who wait for a destination whose rate has changed their turns anew.
func (d *dispatcher) retime(g *relayGroup, domain string, now time.Time) {
	var waiting []*parkedItem
	for i := range g.parked {
		if p := &g.parked[i]; domainOf(p.it.EmailKey) == domain {
			waiting = append(waiting, p)
		}
	}
	slices.SortFunc(waiting, func(a, b *parkedItem) int { return a.at.Compare(b.at) })
	for _, p := range waiting {
		p.at = d.due(g, p.it.EmailKey, now)
	}
	if len(waiting) > 0 {
		heap.Init(&g.parked)
		d.wakeIn(g.parked[0].at, now)
	}
}
