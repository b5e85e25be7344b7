package core

import (
	"fmt"
	"time"
)

// Figures of the first few: a mailing to many readers goes to some of them, waits for what comes back, and then goes to
// the rest.
const (
	FirstFew      = 500  // readers who get it first
	FirstFewFrom  = 2000 // … where there are more readers than this
	FirstFewHold  = 10 * time.Minute
	firstBounces  = 20  // one in so many addresses that don't exist is the most that passes
	firstPolicies = 100 // one in so many refusals for reasons of policy (5.7.x, RFC 3463 section 3.8)
)

// First reports whether the job has not gone beyond its first few yet.
func (j *SendJob) First() bool { return j.FirstFew > 0 && !j.Expanded && j.Recipients <= j.FirstFew }

// FirstThrough reports whether the first few have their outcome, or wait for another try.
func (j *SendJob) FirstThrough() bool {
	return j.Recipients >= j.FirstFew && j.Sent+j.Failed+j.Skipped+j.Deferred >= j.Recipients
}

// FirstHeld reports whether the rest of the readers waits for the end of the hold.
func (j *SendJob) FirstHeld(now Instant) bool { return j.First() && j.FirstUntil > now }

// FirstFault says why the rest must not follow by itself; refused is how many of the first few were refused for reasons
// of policy. Empty: it may follow.
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
