package worker

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"newsletterd/core"
	"newsletterd/mail/smtp"
	"newsletterd/store"
)

// claimSize is how many recipients one claim reads; a job is claimed again when half of them are handed out.
const claimSize = 256

// plenty is how many claimed recipients of a job must be queued so that a connection may take some before it can send them.
const plenty = 64

// item is one claimed recipient on its way through a connection.
type item struct {
	store.Claim
	job        *jobQueue
	departures uint64 // of the store, read before the claim: while it stands, the claim's check holds
	lost       int    // connections that broke in this recipient's own transaction, running
	slot       bool   // holds one of the max_unrecorded slots
	gated      bool   // counts among its group's messages without a reply
	timed      bool   // its destination's turn has come
}

// jobQueue is a running job as the sender sees it. Its fields are guarded by the dispatcher's mutex, but for those that never
// change and those that the claimer alone uses.
type jobQueue struct {
	job     core.SendJob
	tenant  *tenantQueue
	key     store.ClaimKey
	content *content // nil until compiled

	queue   []*item // to be handed out, from head on
	head    int
	aside   int  // parked until their destination's turn
	out     int  // handed out or read from the file, without a recorded outcome
	stopped bool // the job has ended or is paused: nothing is handed out any more
	over    flag // so it is, for those who do not hold the lock

	policy atomic.Int64 // refusals for reasons of policy since the last mail that was taken

	after    int64        // the claimer's position among the queued
	dueAt    core.Instant // … and among the deferred
	dueSeq   int64
	drained  bool      // the last claim found less than it asked for
	lookAt   time.Time // for deferred ones that have become due
	held     string    // why the job is shown to wait
	found    int64     // recipients that the job had at the last look
	expanded bool
	readAt   time.Time // not before, since it could not be read
}

func (j *jobQueue) windowClosed() bool {
	return j.job.WindowEnd != 0 && j.job.WindowClosed(core.At(time.Now()))
}

func (j *jobQueue) waiting() int { return len(j.queue) - j.head }

// enough tells whether the claimer may leave the job alone for now.
func (j *jobQueue) enough() bool {
	return j.stopped || j.waiting() > claimSize/2 || j.aside >= maxParked
}

// tenantQueue are the running jobs of one tenant. The dispatcher's mutex guards it.
type tenantQueue struct {
	id    string
	group *relayGroup
	pace  *pace // nil: no limit
	jobs  []*jobQueue
	turn  int

	until    time.Time // nothing goes before
	refusals int       // of its sender, running
	downAt   time.Time // of the first of them
	refusing flag      // refusals > 0, for those who do not hold the lock
}

// dispatcher is what the connections take from: the claimed recipients of all running jobs. Tenants take turns, and so do the jobs of one,
// so that nothing large holds something small up.
type dispatcher struct {
	mu      sync.Mutex
	more    *sync.Cond    // something was queued, or the dispatcher was closed
	low     chan struct{} // tells the claimer to look again
	jobs    []*jobQueue
	tenants []*tenantQueue
	turn    int
	closed  bool
	ended   flag        // closed, for those who do not hold the lock
	plenty  flag        // so is this: many are queued behind the item that was handed out last, and no limit counts them
	domains *domainPace // nil: no limit
	wakeAt  time.Time   // when a timer wakes the connections; zero: none is set
}

func newDispatcher() *dispatcher {
	d := &dispatcher{low: make(chan struct{}, 1)}
	d.more = sync.NewCond(&d.mu)
	return d
}

// add takes up a job.
func (d *dispatcher) add(j *jobQueue, g *relayGroup, p *pace) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.tenants, func(t *tenantQueue) bool { return t.id == j.job.TenantID })
	if i < 0 {
		d.tenants = append(d.tenants, &tenantQueue{id: j.job.TenantID, group: g, pace: p})
		i = len(d.tenants) - 1
	}
	j.tenant = d.tenants[i]
	j.tenant.jobs = append(j.tenant.jobs, j)
	d.jobs = append(d.jobs, j)
}

// forget lets go of ended jobs of which nothing is in flight; gone tells whether there were any.
func (d *dispatcher) forget() (gone bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	over := func(j *jobQueue) bool { return j.stopped && j.out == 0 }
	n := len(d.jobs)
	d.jobs = slices.DeleteFunc(d.jobs, over)
	if len(d.jobs) == n {
		return false
	}
	for _, t := range d.tenants {
		t.jobs = slices.DeleteFunc(t.jobs, over)
	}
	d.tenants = slices.DeleteFunc(d.tenants, func(t *tenantQueue) bool { return len(t.jobs) == 0 })
	return true
}

// setRoute changes a tenant's relay and its pace.
func (d *dispatcher) setRoute(t *tenantQueue, g *relayGroup, p *pace) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t.group == g && t.pace == p {
		return
	}
	if old := t.group; old != g {
		for _, p := range old.parked {
			if p.it.job.tenant == t {
				g.parked.add(p.at, p.it)
			}
		}
		old.parked = slices.DeleteFunc(old.parked, func(p parkedItem) bool { return p.it.job.tenant == t })
		heap.Init(&old.parked)
	}
	t.group, t.pace, t.until, t.refusals = g, p, time.Time{}, 0
	d.more.Broadcast()
}

// refused notes that a tenant's sender was refused, as relayState.failed does for a relay.
func (d *dispatcher) refused(t *tenantQueue, re *smtp.RelayError, now time.Time) (pause time.Duration, since time.Time, fresh bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
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
	d.wakeIn(t.until, now)
	return pause, t.downAt, true
}

// welcomed notes that a mail of a tenant got beyond MAIL.
func (d *dispatcher) welcomed(t *tenantQueue) {
	d.mu.Lock()
	t.refusals = 0
	t.refusing.Store(false)
	d.mu.Unlock()
}

func (d *dispatcher) tenantsOf(g *relayGroup) (out []*tenantQueue) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.tenants {
		if t.group == g {
			out = append(out, t)
		}
	}
	return out
}

func (d *dispatcher) jobsOf(t *tenantQueue) (nos []int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range t.jobs {
		nos = append(nos, j.job.No)
	}
	return nos
}

// signal makes the claimer look again.
func (d *dispatcher) signal() {
	select {
	case d.low <- struct{}{}:
	default:
	}
}

// next hands out one item; nil means none is ready (wait false), the dispatcher is closed, ctx has ended, or the relay's turn is over.
func (d *dispatcher) next(ctx context.Context, w *relay, wait bool) *item {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || ctx.Err() != nil || !w.serves() {
		return nil
	}
	if it := d.pop(w); it != nil || !wait {
		return it
	}
	stop := context.AfterFunc(ctx, d.wake)
	defer stop()
	for {
		if d.closed || ctx.Err() != nil || !w.serves() {
			return nil
		}
		if it := d.pop(w); it != nil {
			return it
		}
		d.more.Wait()
	}
}

// wake makes every waiting connection look again.
func (d *dispatcher) wake() {
	d.mu.Lock()
	d.more.Broadcast()
	d.mu.Unlock()
}

// wakeIn sees to it that the connections look again at an instant.
func (d *dispatcher) wakeIn(at, now time.Time) {
	if !d.wakeAt.IsZero() && !at.Before(d.wakeAt) && d.wakeAt.After(now) {
		return
	}
	d.wakeAt = at
	time.AfterFunc(at.Sub(now), func() {
		d.mu.Lock()
		if d.wakeAt.Equal(at) {
			d.wakeAt = time.Time{}
		}
		d.more.Broadcast()
		d.mu.Unlock()
	})
}

// clock reads the time once, and only if it is asked for.
type clock struct{ at time.Time }

func (c *clock) now() time.Time {
	if c.at.IsZero() {
		c.at = time.Now()
	}
	return c.at
}

// pop takes the item whose turn it is on a relay.
func (d *dispatcher) pop(w *relay) *item {
	var c clock
	if w.pace != nil && !d.open(w.pace, &c) {
		return nil
	}
	if w.group.throttling.Load() {
		d.raise(w.group, c.now())
	}
	it := d.popParked(w, &c)
	for range d.tenants {
		if it != nil {
			break
		}
		if d.turn >= len(d.tenants) {
			d.turn = 0
		}
		t := d.tenants[d.turn]
		d.turn++
		if t.group == w.group && d.openTenant(t, &c) {
			it = d.popTenant(t, &c)
		}
	}
	if it == nil {
		return nil
	}
	p := it.job.tenant.pace
	if many := it.job.waiting() >= plenty && p == nil && w.pace == nil; many != d.plenty.Load() {
		d.plenty.Store(many)
	}
	if p != nil {
		p.take(c.now())
	}
	if w.pace != nil {
		w.pace.take(c.now())
	}
	return it
}

// open tells whether a pace lets a message go, and else sets the alarm.
func (d *dispatcher) open(p *pace, c *clock) bool {
	at := p.ready(c.now())
	if !at.After(c.now()) {
		return true
	}
	if p.wants() {
		d.signal()
	}
	d.wakeIn(at, c.now())
	return false
}

func (d *dispatcher) openTenant(t *tenantQueue, c *clock) bool {
	if !t.until.IsZero() {
		if t.until.After(c.now()) {
			d.wakeIn(t.until, c.now())
			return false
		}
		t.until = time.Time{}
	}
	return t.pace == nil || d.open(t.pace, c)
}

// popTenant takes the next item of a tenant: its jobs take turns.
func (d *dispatcher) popTenant(t *tenantQueue, c *clock) *item {
	for range t.jobs {
		if t.turn >= len(t.jobs) {
			t.turn = 0
		}
		j := t.jobs[t.turn]
		t.turn++
		for j.waiting() > 0 && j.aside < maxParked {
			it := j.queue[j.head]
			j.queue[j.head] = nil
			j.head++
			if j.waiting() == claimSize/2 || j.waiting() == 0 {
				d.signal()
			}
			if it.timed || d.domains == nil && !t.group.throttling.Load() {
				it.timed = false
				return it
			}
			at := d.due(t.group, it.EmailKey, c.now())
			if !at.After(c.now()) {
				return it
			}
			j.aside++
			t.group.parked.add(at, it)
			d.wakeIn(t.group.parked[0].at, c.now())
		}
	}
	return nil
}

// popParked takes an item whose destination's turn has come.
func (d *dispatcher) popParked(w *relay, c *clock) *item {
	for h := &w.group.parked; len(*h) > 0; {
		if first := (*h)[0]; first.at.After(c.now()) {
			d.wakeIn(first.at, c.now())
			return nil
		}
		it := h.first()
		if it.job.aside--; it.job.aside == maxParked/2 {
			d.signal()
		}
		if d.openTenant(it.job.tenant, c) {
			return it
		}
		// It goes back to the others of its job, for a tenant that waits must not hold others up.
		it.timed = true
		it.job.unpop(it)
	}
	return nil
}

// push queues claimed items of a job behind the others.
func (d *dispatcher) push(j *jobQueue, items []*item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if j.stopped {
		j.out -= len(items)
		d.signal()
		return
	}
	if j.head > 0 {
		n := copy(j.queue, j.queue[j.head:])
		clear(j.queue[n:])
		j.queue, j.head = j.queue[:n], 0
	}
	j.queue = append(j.queue, items...)
	d.more.Broadcast()
}

// giveBack queues an item again, before all others of its job: nobody has taken its message.
func (d *dispatcher) giveBack(it *item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	j := it.job
	if j.stopped || d.closed {
		j.out--
		d.signal()
		return
	}
	j.unpop(it)
	d.more.Broadcast()
}

// unpop puts an item before the others of its job.
func (j *jobQueue) unpop(it *item) {
	if j.head > 0 {
		j.head--
		j.queue[j.head] = it
	} else {
		j.queue = append(j.queue, it)
	}
}

// settled notes that n items of a job have a recorded outcome.
func (d *dispatcher) settled(j *jobQueue, n int) {
	d.mu.Lock()
	j.out -= n
	done := n > 0 && j.out == 0
	d.mu.Unlock()
	if done {
		d.signal()
	}
}

// stop drops what is queued of a job that has ended.
func (d *dispatcher) stop(j *jobQueue) {
	d.mu.Lock()
	j.stopped = true
	j.over.Store(true)
	j.out -= j.waiting() + j.aside
	j.queue, j.head = nil, 0
	if j.aside > 0 {
		h := &j.tenant.group.parked
		*h = slices.DeleteFunc(*h, func(p parkedItem) bool { return p.it.job == j })
		heap.Init(h)
		j.aside = 0
	}
	d.mu.Unlock()
	d.signal()
}

// has tells whether the sender still holds anything of a job.
func (d *dispatcher) has(jobNo int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jobs {
		if j.job.No == jobNo {
			return true
		}
	}
	return false
}

// close wakes all connections and hands out nothing more.
func (d *dispatcher) close() {
	d.mu.Lock()
	d.closed = true
	d.ended.Store(true)
	d.mu.Unlock()
	d.more.Broadcast()
}

// reset forgets everything; no connection runs.
func (d *dispatcher) reset() {
	d.mu.Lock()
	for _, t := range d.tenants {
		t.group.parked = nil
	}
	d.jobs, d.tenants, d.turn, d.closed = nil, nil, 0, false
	d.ended.Store(false)
	d.mu.Unlock()
}
