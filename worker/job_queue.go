package worker

import (
	"slices"
	"sync/atomic"
	"time"

	"newsletterd/core"
	"newsletterd/mail/smtp"
	"newsletterd/store/campaigns"
)

// A claim for the only job reads claimSize recipients. With many jobs, claims read fewer recipients, but at least
// leastClaim, which is as many as a job sends in a turn. The next claim follows when half of the recipients are handed
// out.
const (
	claimSize  = 256
	leastClaim = runLength
)

// plenty is the number of queued recipients above which a connection takes several in advance.
const plenty = 64

// item is a claimed recipient whose outcome is not recorded yet.
type item struct {
	core.Claim
	job        *jobQueue
	departures uint64 // number for the tenant before the claim; while it is unchanged, the claim's check is valid
	lost       int    // consecutive connections that broke, or ended with 421, during this recipient's own transaction
	slot       bool   // holds an inflight slot
	gated      bool   // counts among its group's unanswered messages
	timed      bool   // its destination permits the message now
}

// jobQueue is a running job with its claimed recipients. The dispatcher's lock guards its fields, except constants and
// those that only the claimer uses.
type jobQueue struct {
	job     core.SendJob
	tenant  *tenantQueue
	key     campaigns.ClaimKey
	content []*content // content for each of the job's lists, in order

	queue   []*item // items to hand out, starting at head
	head    int
	parked  int  // items waiting for their destination
	out     int  // claimed items without a recorded outcome: queued, parked and handed out
	stopped bool // the job has ended or is paused, so no item is handed out
	over    flag // same as stopped, read without the lock

	policy   atomic.Int64 // policy refusals since the last accepted email
	deferred flag         // the first deferred recipient may have changed since the last look

	// The following fields belong to the claimer.
	after      int64        // position among the queued recipients
	dueAt      core.Instant // position among the deferred recipients
	dueSeq     int64
	drained    bool      // the last claim returned fewer than requested
	lookAt     time.Time // time of the next check for deferred recipients
	waitReason string    // reason shown for the job's wait
	nextDue    time.Time // when the first deferred recipient is due; zero: there is none
	found      int64     // number of the job's recipients at the last check
	checked    uint64    // the tenant's departures before the last check that the job is running
	sure       bool      // the job was checked
	readAt     time.Time // earliest time of the next read, after an error
}

// windowClosed reports whether the job's delivery window has ended.
func (j *jobQueue) windowClosed() bool {
	return j.job.WindowEnd != 0 && j.job.WindowClosed(core.At(time.Now()))
}

// waiting returns the number of queued items.
func (j *jobQueue) waiting() int { return len(j.queue) - j.head }

// enough reports whether the job needs no further claim at the moment, given that a claim reads share recipients.
func (j *jobQueue) enough(share int) bool {
	return j.stopped || j.waiting() > share/2 || j.parked >= maxParked
}

// pop takes the first item.
func (j *jobQueue) pop() *item {
	it := j.queue[j.head]
	j.queue[j.head] = nil
	j.head++
	j.tenant.group.queued--
	return it
}

// push appends items to the queue.
func (j *jobQueue) push(items []*item) {
	if j.head > 0 {
		n := copy(j.queue, j.queue[j.head:])
		clear(j.queue[n:])
		j.queue, j.head = j.queue[:n], 0
	}
	j.queue = append(j.queue, items...)
	j.tenant.group.queued += len(items)
}

// unpop puts an item back at the head of the queue.
func (j *jobQueue) unpop(it *item) {
	j.tenant.group.queued++
	if j.head > 0 {
		j.head--
		j.queue[j.head] = it
	} else {
		j.queue = append(j.queue, it)
	}
}

// stop drops all queued and parked items.
func (j *jobQueue) stop() {
	j.stopped = true
	j.over.Store(true)
	j.out -= j.waiting() + j.parked
	j.tenant.group.queued -= j.waiting()
	j.queue, j.head = nil, 0
	if j.parked > 0 {
		j.tenant.group.drop(func(it *item) bool { return it.job == j })
		j.parked = 0
	}
}

// tenantQueue holds one tenant's running jobs. It is guarded by the dispatcher's lock.
type tenantQueue struct {
	id    string
	group *relayGroup
	pace  *pace // nil: no limit
	jobs  []*jobQueue
	turn  int // index of the job whose turn it is

	until    time.Time // no email is sent before this time
	refusals int       // consecutive refusals of the tenant's sender
	downAt   time.Time // time of the first of these refusals
	refusing flag      // refusals > 0, read without the lock
}

// setRoute changes the tenant's relay group and pace.
func (t *tenantQueue) setRoute(g *relayGroup, p *pace) {
	if t.group == g && t.pace == p {
		return
	}
	if old := t.group; old != g {
		for _, p := range old.drop(func(it *item) bool { return it.job.tenant == t }) {
			g.parked.add(p.at, p.it)
		}
		for _, j := range t.jobs {
			old.queued -= j.waiting()
			g.queued += j.waiting()
		}
	}
	t.group, t.pace, t.until, t.refusals = g, p, time.Time{}, 0
}

// refused records that the relay refused the tenant's sender. It returns the same values as relayState.failed.
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

// welcomed records that the relay accepted MAIL for one of the tenant's emails.
func (t *tenantQueue) welcomed() {
	t.refusals = 0
	t.refusing.Store(false)
}

// forget removes ended jobs that have no item in flight.
func (t *tenantQueue) forget() { t.jobs = slices.DeleteFunc(t.jobs, (*jobQueue).gone) }

// gone reports whether the job has ended and has no item in flight.
func (j *jobQueue) gone() bool { return j.stopped && j.out == 0 }
