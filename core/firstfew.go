package core

import (
	"fmt"
	"time"
)

// Settings of first recipients. A send to many subscribers goes to some of them first, waits for bounces, and then
// goes to the rest.
const (
	FirstFew      = 500  // number of first recipients
	FirstFewFrom  = 2000 // … if there are more subscribers than this
	FirstFewHold  = 10 * time.Minute
	firstBounces  = 20  // at most one in 20 addresses may be nonexistent
	firstPolicies = 100 // at most one in 100 may be refused for policy reasons (5.7.x, RFC 3463 section 3.8)
)

// First reports whether the job is still limited to its first recipients.
func (j *SendJob) First() bool { return j.FirstFew > 0 && !j.Expanded && j.Recipients <= j.FirstFew }

// FirstThrough reports whether all first recipients have an outcome or wait for a retry.
func (j *SendJob) FirstThrough() bool {
	return j.Recipients >= j.FirstFew && j.Sent+j.Failed+j.Skipped+j.Deferred >= j.Recipients
}

// FirstHeld reports whether the other recipients wait for the end of the hold.
func (j *SendJob) FirstHeld(now Instant) bool { return j.First() && j.FirstUntil > now }

// FirstFault returns the reason that prevents the rest from following automatically, or "" if there is none. refused is
// the number of first recipients that were refused for policy reasons.
func (j *SendJob) FirstFault(refused int64) string {
	tried := j.Sent + j.Failed
	switch {
	case j.Unstoppable || tried == 0:
	case j.HardBounced*firstBounces > tried:
		return fmt.Sprintf("first few: %d of %d addresses do not exist, so the rest waits", j.HardBounced, tried)
	case refused*firstPolicies > tried:
		return fmt.Sprintf("first few: %d of %d were refused for reasons of policy, so the rest waits", refused, tried)
	}
	return ""
}
