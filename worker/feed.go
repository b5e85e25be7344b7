package worker

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/store"
)

// claimSize is how many recipients one claim reads; a job is claimed again when half of them are handed out.
const claimSize = 256

// plenty is how many claimed recipients of a job must be queued so that a lane may take some before it can send them.
const plenty = 64

// item is one claimed recipient on its way through a lane.
type item struct {
	store.Claim
	job        *jobFeed
	departures uint64 // of the store, read before the claim: while it stands, the claim's check holds
	lost       int    // connections that broke in this recipient's own transaction, running
	slot       bool   // holds a slot of the max_unrecorded window
	gated      bool   // counts among its group's messages without a reply
	timed      bool   // its destination's turn has come
}

// jobFeed is a running job as the sender sees it. Its fields are guarded by the feed's mutex, but for those that never
// change and those that the claimer alone uses.
type jobFeed struct {
	job     core.SendJob
	tenant  *tenantFeed
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

func (j *jobFeed) windowClosed() bool {
	return j.job.WindowEnd != 0 && j.job.WindowClosed(core.At(time.Now()))
}

func (j *jobFeed) waiting() int { return len(j.queue) - j.head }

// enough tells whether the claimer may leave the job alone for now.
func (j *jobFeed) enough() bool {
	return j.stopped || j.waiting() > claimSize/2 || j.aside >= maxParked
}

// tenantFeed are the running jobs of one tenant. The feed's mutex guards it.
type tenantFeed struct {
	id    string
	group *routeGroup
	pace  *pace // nil: no limit
	jobs  []*jobFeed
	turn  int

	until    time.Time // nothing goes before
	refusals int       // of its sender, running
	downAt   time.Time // of the first of them
	refusing flag      // refusals > 0, for those who do not hold the lock
}

// feed is what the lanes take from: the claimed recipients of all running jobs. Tenants take turns, and so do the jobs of one,
// so that nothing large holds something small up.
type feed struct {
	mu      sync.Mutex
	more    *sync.Cond    // something was queued, or the feed was closed
	low     chan struct{} // tells the claimer to look again
	jobs    []*jobFeed
	tenants []*tenantFeed
	turn    int
	closed  bool
	ended   flag        // closed, for those who do not hold the lock
	plenty  flag        // so is this: many are queued behind the item that was handed out last, and no limit counts them
	domains *domainPace // nil: no limit
	wakeAt  time.Time   // when a timer wakes the lanes; zero: none is set
}

func newFeed() *feed {
	f := &feed{low: make(chan struct{}, 1)}
	f.more = sync.NewCond(&f.mu)
	return f
}

// add takes up a job.
func (f *feed) add(j *jobFeed, g *routeGroup, p *pace) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.tenants, func(t *tenantFeed) bool { return t.id == j.job.TenantID })
	if i < 0 {
		f.tenants = append(f.tenants, &tenantFeed{id: j.job.TenantID, group: g, pace: p})
		i = len(f.tenants) - 1
	}
	j.tenant = f.tenants[i]
	j.tenant.jobs = append(j.tenant.jobs, j)
	f.jobs = append(f.jobs, j)
}

// forget lets go of ended jobs of which nothing is in flight; gone tells whether there were any.
func (f *feed) forget() (gone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	over := func(j *jobFeed) bool { return j.stopped && j.out == 0 }
	n := len(f.jobs)
	f.jobs = slices.DeleteFunc(f.jobs, over)
	if len(f.jobs) == n {
		return false
	}
	for _, t := range f.tenants {
		t.jobs = slices.DeleteFunc(t.jobs, over)
	}
	f.tenants = slices.DeleteFunc(f.tenants, func(t *tenantFeed) bool { return len(t.jobs) == 0 })
	return true
}

// setRoute changes a tenant's way out and its pace.
func (f *feed) setRoute(t *tenantFeed, g *routeGroup, p *pace) {
	f.mu.Lock()
	defer f.mu.Unlock()
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
	f.more.Broadcast()
}

// refused notes that a tenant's sender was refused, as routeState.failed does for a way.
func (f *feed) refused(t *tenantFeed, re *mail.RouteError, now time.Time) (pause time.Duration, since time.Time, fresh bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
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
	f.wakeIn(t.until, now)
	return pause, t.downAt, true
}

// welcomed notes that a mail of a tenant got beyond MAIL.
func (f *feed) welcomed(t *tenantFeed) {
	f.mu.Lock()
	t.refusals = 0
	t.refusing.Store(false)
	f.mu.Unlock()
}

func (f *feed) tenantsOf(g *routeGroup) (out []*tenantFeed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.tenants {
		if t.group == g {
			out = append(out, t)
		}
	}
	return out
}

func (f *feed) jobsOf(t *tenantFeed) (nos []int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, j := range t.jobs {
		nos = append(nos, j.job.No)
	}
	return nos
}

// signal makes the claimer look again.
func (f *feed) signal() {
	select {
	case f.low <- struct{}{}:
	default:
	}
}

// next hands out one item; nil means none is ready (wait false), the feed is closed, ctx has ended, or the way's turn is over.
func (f *feed) next(ctx context.Context, w *way, wait bool) *item {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || ctx.Err() != nil || !w.serves() {
		return nil
	}
	if it := f.pop(w); it != nil || !wait {
		return it
	}
	stop := context.AfterFunc(ctx, f.wake)
	defer stop()
	for {
		if f.closed || ctx.Err() != nil || !w.serves() {
			return nil
		}
		if it := f.pop(w); it != nil {
			return it
		}
		f.more.Wait()
	}
}

// wake makes every waiting lane look again.
func (f *feed) wake() {
	f.mu.Lock()
	f.more.Broadcast()
	f.mu.Unlock()
}

// wakeIn sees to it that the lanes look again at an instant.
func (f *feed) wakeIn(at, now time.Time) {
	if !f.wakeAt.IsZero() && !at.Before(f.wakeAt) && f.wakeAt.After(now) {
		return
	}
	f.wakeAt = at
	time.AfterFunc(at.Sub(now), func() {
		f.mu.Lock()
		if f.wakeAt.Equal(at) {
			f.wakeAt = time.Time{}
		}
		f.more.Broadcast()
		f.mu.Unlock()
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

// pop takes the item whose turn it is on a way.
func (f *feed) pop(w *way) *item {
	var c clock
	if w.pace != nil && !f.open(w.pace, &c) {
		return nil
	}
	if w.group.throttling.Load() {
		f.raise(w.group, c.now())
	}
	it := f.popParked(w, &c)
	for range f.tenants {
		if it != nil {
			break
		}
		if f.turn >= len(f.tenants) {
			f.turn = 0
		}
		t := f.tenants[f.turn]
		f.turn++
		if t.group == w.group && f.openTenant(t, &c) {
			it = f.popTenant(t, &c)
		}
	}
	if it == nil {
		return nil
	}
	p := it.job.tenant.pace
	if many := it.job.waiting() >= plenty && p == nil && w.pace == nil; many != f.plenty.Load() {
		f.plenty.Store(many)
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
func (f *feed) open(p *pace, c *clock) bool {
	at := p.ready(c.now())
	if !at.After(c.now()) {
		return true
	}
	if p.wants() {
		f.signal()
	}
	f.wakeIn(at, c.now())
	return false
}

func (f *feed) openTenant(t *tenantFeed, c *clock) bool {
	if !t.until.IsZero() {
		if t.until.After(c.now()) {
			f.wakeIn(t.until, c.now())
			return false
		}
		t.until = time.Time{}
	}
	return t.pace == nil || f.open(t.pace, c)
}

// popTenant takes the next item of a tenant: its jobs take turns.
func (f *feed) popTenant(t *tenantFeed, c *clock) *item {
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
				f.signal()
			}
			if it.timed || f.domains == nil && !t.group.throttling.Load() {
				it.timed = false
				return it
			}
			at := f.due(t.group, it.EmailKey, c.now())
			if !at.After(c.now()) {
				return it
			}
			j.aside++
			t.group.parked.add(at, it)
			f.wakeIn(t.group.parked[0].at, c.now())
		}
	}
	return nil
}

// popParked takes an item whose destination's turn has come.
func (f *feed) popParked(w *way, c *clock) *item {
	for h := &w.group.parked; len(*h) > 0; {
		if first := (*h)[0]; first.at.After(c.now()) {
			f.wakeIn(first.at, c.now())
			return nil
		}
		it := h.first()
		if it.job.aside--; it.job.aside == maxParked/2 {
			f.signal()
		}
		if f.openTenant(it.job.tenant, c) {
			return it
		}
		// It goes back to the others of its job, for a tenant that waits must not hold others up.
		it.timed = true
		it.job.unpop(it)
	}
	return nil
}

// push queues claimed items of a job behind the others.
func (f *feed) push(j *jobFeed, items []*item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if j.stopped {
		j.out -= len(items)
		f.signal()
		return
	}
	if j.head > 0 {
		n := copy(j.queue, j.queue[j.head:])
		clear(j.queue[n:])
		j.queue, j.head = j.queue[:n], 0
	}
	j.queue = append(j.queue, items...)
	f.more.Broadcast()
}

// giveBack queues an item again, before all others of its job: nobody has taken its message.
func (f *feed) giveBack(it *item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j := it.job
	if j.stopped || f.closed {
		j.out--
		f.signal()
		return
	}
	j.unpop(it)
	f.more.Broadcast()
}

// unpop puts an item before the others of its job.
func (j *jobFeed) unpop(it *item) {
	if j.head > 0 {
		j.head--
		j.queue[j.head] = it
	} else {
		j.queue = append(j.queue, it)
	}
}

// settled notes that n items of a job have a recorded outcome.
func (f *feed) settled(j *jobFeed, n int) {
	f.mu.Lock()
	j.out -= n
	done := n > 0 && j.out == 0
	f.mu.Unlock()
	if done {
		f.signal()
	}
}

// stop drops what is queued of a job that has ended.
func (f *feed) stop(j *jobFeed) {
	f.mu.Lock()
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
	f.mu.Unlock()
	f.signal()
}

// has tells whether the sender still holds anything of a job.
func (f *feed) has(jobNo int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, j := range f.jobs {
		if j.job.No == jobNo {
			return true
		}
	}
	return false
}

// close wakes all lanes and hands out nothing more.
func (f *feed) close() {
	f.mu.Lock()
	f.closed = true
	f.ended.Store(true)
	f.mu.Unlock()
	f.more.Broadcast()
}

// reset forgets everything; no lane runs.
func (f *feed) reset() {
	f.mu.Lock()
	for _, t := range f.tenants {
		t.group.parked = nil
	}
	f.jobs, f.tenants, f.turn, f.closed = nil, nil, 0, false
	f.ended.Store(false)
	f.mu.Unlock()
}
