package worker

import (
	"regexp"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"newsletterd/mail/smtp"
)

// Parameters for throttling. If a destination refuses emails because there are too many (4.7.x, RFC 3463 section 3.8),
// its rate is halved until it accepts them. Later, the rate is slowly raised to the original one.
const (
	throttleAfter  = 10               // minimum number of such refusals
	throttleShare  = 10               // at least one in this many replies must be such a refusal
	throttleSpan   = time.Minute      // period in which they are counted
	throttleLeast  = time.Second      // minimum counting time to estimate a rate
	throttleSettle = 10 * time.Second // time after a change during which replies still concern the old rate
	raiseAfter     = 5 * time.Minute  // time without such a refusal
	raiseBy        = 1.25
	throttleFloor  = 0.1 // messages per second
	throttleMost   = 256 // divisor of the original rate, for the minimum rate
	maxThrottles   = 10_000
)

// throttle is the state of a destination that has refused emails because there were too many. Its replies are counted,
// and after many refusals its rate is reduced.
type throttle struct {
	began            time.Time // start of the count
	replies, refused int
	rate             float64       // messages per second
	was              float64       // rate before it was slowed down
	bucket           *rate.Limiter // nil: not slowed down
	raiseAt          time.Time
}

// throttles reports whether a reply refuses an email because there are too many. Greylisting (RFC 6647) also uses
// 4.7.1, but refuses each new sender once regardless of the rate, so it does not count.
func throttles(o smtp.Outcome) bool {
	return o.Result == smtp.Later && strings.HasPrefix(o.Enhanced, "4.7.") && !greylisting.MatchString(o.Text)
}

var greylisting = regexp.MustCompile(`(?i)gr[ae]y-?list|postgrey`)

// reply counts a reply from a destination domain. slowed reports whether the domain's rate was halved, and to is the
// new rate in messages per second.
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

// halve reduces a destination's rate to half of its recent rate.
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

// raise increases the rate of domains without recent refusals, and forgets those that reach their original rate. It
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
