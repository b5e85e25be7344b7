package core

import (
	"fmt"
	"time"
)

// Settings for first recipients. A send to many subscribers goes to some of them first, waits for bounces, and
// continues with the rest.
const (
	FirstFew     = 500              // number of first recipients
	FirstFewFrom = 2000             // a send to more subscribers than this has first recipients
	FirstFewHold = 10 * time.Minute // how long to wait for the first recipients' bounces
	firstBounces = 20               // at most one in 20 addresses may be nonexistent
	// at most one in firstPolicies may be refused for policy reasons (5.7.x, RFC 3463 section 3.8)
	firstPolicies = 100
)

// First reports whether the job currently emails only its first recipients.
func (j *SendJob) First() bool { return j.FirstFew > 0 && !j.Expanded && j.Recipients <= j.FirstFew }

// FirstThrough reports whether the job has tried to email each of its first recipients.
func (j *SendJob) FirstThrough() bool {
	return j.Recipients >= j.FirstFew && j.Sent+j.Failed+j.Skipped+j.Deferred >= j.Recipients
}

// FirstHeld reports whether the job is still waiting for its first recipients' bounces before it emails the others.
func (j *SendJob) FirstHeld(now Instant) bool { return j.First() && j.FirstUntil > now }

// FirstFault returns why the job must not continue automatically after its first recipients, or "" if it may. refused
// is the number of first recipients whose emails were rejected for policy reasons.
func (j *SendJob) FirstFault(refused int64) string {
	tried := j.Sent + j.Failed
	switch {
	case j.Unstoppable || tried == 0:
	case j.HardBounced*firstBounces > tried:
		return fmt.Sprintf(PauseFirst+": %d of %d addresses don't exist", j.HardBounced, tried)
	case refused*firstPolicies > tried:
		return fmt.Sprintf(PauseFirst+": %d of %d emails were rejected for policy reasons", refused, tried)
	}
	return ""
}
