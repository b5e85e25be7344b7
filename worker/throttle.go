package worker

import (
	"regexp"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"newsletterd/mail/smtp"
)

// A destination that refuses mails for their number (4.7.x, RFC 3463 section 3.8) gets half as many a second, and half
// again until it takes them; then slowly more, until it has as many as before.
const (
	throttleAfter  = 10               // such refusals
	throttleShare  = 10               // one of so many replies
	throttleSpan   = time.Minute      // within which they are counted
	throttleLeast  = time.Second      // of counting before a rate is known
	throttleSettle = 10 * time.Second // after a change, in which replies are still about the rate before
	raiseAfter     = 5 * time.Minute  // without such a refusal
	raiseBy        = 1.25
	throttleFloor  = 0.1 // messages a second
	throttleMost   = 256 // the rate is never less than this part of the rate before
	maxThrottles   = 10_000
)

// throttle is a destination that has refused mails for their number. It is watched, and slowed down if it refuses many.
type throttle struct {
	began            time.Time // of the count
	replies, refused int
	rate             float64       // messages a second
	was              float64       // before it was slowed down
	bucket           *rate.Limiter // nil: not slowed down
	raiseAt          time.Time
}

// throttles reports whether a reply refuses a mail for the number of mails. Greylisting (RFC 6647) says 4.7.1 too, and
// refuses each new sender once at any rate.
func throttles(o smtp.Outcome) bool {
	return o.Result == smtp.Later && strings.HasPrefix(o.Enhanced, "4.7.") && !greylisting.MatchString(o.Text)
}

var greylisting = regexp.MustCompile(`(?i)gr[ae]y-?list|postgrey`)

// reply counts a reply for a domain. slowed reports whether the rate of the domain was halved, to so many messages a
// second.
func (d *destinations) reply(domain string, refused bool, now time.Time) (slowed bool, to float64) {
	t := d.throttled[domain]
	switch {
	case t == nil && (!refused || len(d.throttled) >= maxThrottles):
		return false, 0
	case t == nil:
		if d.throttled == nil {
			d.throttled = map[string]*throttle{}
		}
		t = &throttle{began: now}
		d.throttled[domain] = t
		d.throttling.Store(true)
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
	span := now.Sub(t.began)
	if t.refused < throttleAfter || t.refused*throttleShare < t.replies || span < throttleLeast {
		return false, 0
	}
	t.halve(now)
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

// raise gives domains that have refused nothing for a while more, and forgets those that have as many as before. It
// returns the domains whose rate has changed.
func (d *destinations) raise(now time.Time) (raised []string) {
	if now.Before(d.raiseAt) {
		return nil
	}
	d.raiseAt = now.Add(throttleSettle)
	for domain, t := range d.throttled {
		if t.bucket == nil {
			if now.Sub(t.began) > throttleSpan {
				delete(d.throttled, domain)
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
			delete(d.throttled, domain)
		}
		raised = append(raised, domain)
	}
	d.throttling.Store(len(d.throttled) > 0)
	return raised
}
