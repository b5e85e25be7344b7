package worker

import (
	"slices"
	"sync/atomic"
	"time"

	"newsletterd/core"
	"newsletterd/mail/smtp"
	"newsletterd/store/campaigns"
)

// claimSize is how many recipients one claim reads. A job is claimed again when half of them are handed out.
const claimSize = 256

// plenty is how many claimed recipients of a job must be queued so that a connection takes some before it can send
// them.
const plenty = 64

// item is one claimed recipient, from the claim to the recorded outcome.
type item struct {
	core.Claim
	job        *jobQueue
	departures uint64 // of the store, read before the claim: while it stands, the claim's check holds
	lost       int    // connections that broke in this recipient's own transaction, running
	slot       bool   // has a slot of inflight
	gated      bool   // counts among its group's messages without a reply
	timed      bool   // the turn of its destination has come
}

// jobQueue is a running job and its claimed recipients. The dispatcher's lock guards its fields, except those that
// never change and those that only the claimer uses.
type jobQueue struct {
	job     core.SendJob
	tenant  *tenantQueue
	key     campaigns.ClaimKey
	content []*content // of each list of the job, in their order

	queue   []*item // to be handed out, from head on
	head    int
	parked  int  // wait for the turn of their destination
	out     int  // claimed, without a recorded outcome: queued, parked and handed out
	stopped bool // the job has ended or is paused: no item is handed out any more
	over    flag // the same, read without the lock

	policy atomic.Int64 // refusals for reasons of policy since the last mail that was accepted

	// The claimer's.
	after      int64        // its position among the queued recipients
	dueAt      core.Instant // its position among the deferred ones
	dueSeq     int64
	drained    bool      // the last claim found fewer than it asked for
	lookAt     time.Time // when to look for deferred ones that have become due
	waitReason string    // why the job is shown to wait
	found      int64     // recipients that the job had at the last look
	readAt     time.Time // not read before, since it could not be read
}

// windowClosed reports whether the delivery window of the job has ended.
func (j *jobQueue) windowClosed() bool {
	return j.job.WindowEnd != 0 && j.job.WindowClosed(core.At(time.Now()))
}

// waiting returns how many items are queued.
func (j *jobQueue) waiting() int { return len(j.queue) - j.head }

// enough reports whether the claimer may leave the job alone for now.
func (j *jobQueue) enough() bool {
	return j.stopped || j.waiting() > claimSize/2 || j.parked >= maxParked
}

// pop takes the first item.
func (j *jobQueue) pop() *item {
	it := j.queue[j.head]
	j.queue[j.head] = nil
	j.head++
	return it
}

// push queues items after the others.
func (j *jobQueue) push(items []*item) {
	if j.head > 0 {
		n := copy(j.queue, j.queue[j.head:])
		clear(j.queue[n:])
		j.queue, j.head = j.queue[:n], 0
	}
	j.queue = append(j.queue, items...)
}

// unpop puts an item before the others.
func (j *jobQueue) unpop(it *item) {
	if j.head > 0 {
		j.head--
		j.queue[j.head] = it
	} else {
		j.queue = append(j.queue, it)
	}
}

// stop drops what is queued or parked.
func (j *jobQueue) stop() {
	j.stopped = true
	j.over.Store(true)
	j.out -= j.waiting() + j.parked
	j.queue, j.head = nil, 0
	if j.parked > 0 {
		j.tenant.group.drop(func(it *item) bool { return it.job == j })
		j.parked = 0
	}
}

// tenantQueue is the running jobs of one tenant. The dispatcher's lock guards it.
type tenantQueue struct {
	id    string
	group *relayGroup
	pace  *pace // nil: no limit
	jobs  []*jobQueue
	turn  int // the next of jobs

	until    time.Time // no mail goes before
	refusals int       // of its sender, running
	downAt   time.Time // of the first of them
	refusing flag      // refusals > 0, read without the lock
}

// setRoute changes a tenant's relays and its pace.
func (t *tenantQueue) setRoute(g *relayGroup, p *pace) {
	if t.group == g && t.pace == p {
		return
	}
	if old := t.group; old != g {
		for _, p := range old.drop(func(it *item) bool { return it.job.tenant == t }) {
			g.parked.add(p.at, p.it)
		}
	}
	t.group, t.pace, t.until, t.refusals = g, p, time.Time{}, 0
}

// refused notes that the tenant's sender was refused, as relayState.failed does for a relay.
func (t *tenantQueue) refused(re *smtp.RelayError, now time.Time) (pause time.Duration, since time.Time, fresh bool) {
	if t.refusals > 0 && now.Before(t.until) {
		return 0, t.downAt, false
	}
	if t.refusals == 0 {
		t.downAt = now
	}
	t.refusals++
	t.refusing.Store(true)
	pause = re.Backoff(t.refusals)
	t.until = now.Add(pause)
	return pause, t.downAt, true
}

// welcomed notes that a mail of the tenant got beyond MAIL.
func (t *tenantQueue) welcomed() {
	t.refusals = 0
	t.refusing.Store(false)
}

// forget removes the jobs that have ended and of which no item is in flight.
func (t *tenantQueue) forget() { t.jobs = slices.DeleteFunc(t.jobs, (*jobQueue).gone) }

// gone reports whether the job has ended and no item of it is in flight.
func (j *jobQueue) gone() bool { return j.stopped && j.out == 0 }
