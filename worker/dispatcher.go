package worker

import (
	"slices"
	"sync"
	"time"

	"newsletterd/mail/smtp"
)

// dispatcher hands out the claimed recipients of all running jobs to the connections. Tenants take turns, and so do the
// jobs of a tenant. Each turn has only a few recipients (see runLength), so a large job never blocks a small one. Its
// lock guards the queues, the paces and the relay groups' destinations.
type dispatcher struct {
	mu      sync.Mutex
	more    *sync.Cond    // signals that an item was queued or the dispatcher was closed
	low     chan struct{} // wakes the claimer
	jobs    []*jobQueue   // changed by the claimer's goroutine only
	share   int           // number of recipients that a claim for one job reads
	tenants []*tenantQueue
	closed  bool
	ended   flag // same as closed, read without the lock
	// the last item's group has many more queued, and no limit applies; read without the lock
	plenty  flag
	domains *domainPace // nil: no limit
	wakeAt  time.Time   // when a timer wakes the connections; zero: none set
}

// newDispatcher returns a dispatcher without jobs. domainRates are in messages per second to each domain.
func newDispatcher(domainRates map[string]float64) *dispatcher {
	d := &dispatcher{low: make(chan struct{}, 1), domains: newDomainPace(domainRates)}
	d.divide()
	d.more = sync.NewCond(&d.mu)
	return d
}

// add adds a running job with the relay group and the pace of its tenant.
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
	d.divide()
}

// divide sets how many recipients a claim reads, so that many jobs together don't hold too many.
func (d *dispatcher) divide() { d.share = max(claimSize/max(len(d.jobs), 1), leastClaim) }

// has reports whether any recipients of a job are claimed.
func (d *dispatcher) has(jobNo int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.jobs, func(j *jobQueue) bool { return j.job.No == jobNo })
}

// stop drops a job's queued items after it has ended or been paused.
func (d *dispatcher) stop(j *jobQueue) {
	d.mu.Lock()
	j.stop()
	d.mu.Unlock()
	d.signal()
}

// forget removes ended jobs that have no items in flight, and returns their numbers.
func (d *dispatcher) forget() (ended []int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jobs {
		if j.gone() {
			ended = append(ended, j.job.No)
		}
	}
	if len(ended) == 0 {
		return nil
	}
	d.jobs = slices.DeleteFunc(d.jobs, (*jobQueue).gone)
	d.divide()
	for _, t := range d.tenants {
		t.forget()
	}
	d.tenants = slices.DeleteFunc(d.tenants, func(t *tenantQueue) bool { return len(t.jobs) == 0 })
	return ended
}

// hungry returns the jobs for which more recipients should be claimed, and how many for each.
func (d *dispatcher) hungry(now time.Time) (jobs []*jobQueue, share int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jobs {
		if !j.enough(d.share) && !(j.drained && j.lookAt.After(now)) {
			jobs = append(jobs, j)
		}
	}
	return jobs, d.share
}

// close wakes all connections. The dispatcher hands out no more items.
func (d *dispatcher) close() {
	d.mu.Lock()
	d.closed = true
	d.ended.Store(true)
	d.mu.Unlock()
	d.more.Broadcast()
}

// reset removes all jobs. The caller must make sure that no connection is running.
func (d *dispatcher) reset() {
	d.mu.Lock()
	for _, t := range d.tenants {
		t.group.parked, t.group.queued = nil, 0
	}
	d.jobs, d.tenants, d.closed = nil, nil, false
	d.divide()
	d.ended.Store(false)
	d.mu.Unlock()
}

// setRoute changes the relay group and the pace of a tenant.
func (d *dispatcher) setRoute(t *tenantQueue, g *relayGroup, p *pace) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t.setRoute(g, p)
	d.more.Broadcast()
}

// refused records that the relay refused a tenant's sender at MAIL. It returns how long the tenant is paused. If the
// tenant was already paused, fresh is false.
func (d *dispatcher) refused(
	t *tenantQueue, re *smtp.RelayError, now time.Time,
) (pause time.Duration, since time.Time, fresh bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if pause, since, fresh = t.refused(re, now); fresh {
		d.wakeIn(t.until, now)
	}
	return pause, since, fresh
}

// welcomed records that the relay accepted MAIL for one of the tenant's emails.
func (d *dispatcher) welcomed(t *tenantQueue) {
	d.mu.Lock()
	t.welcomed()
	d.mu.Unlock()
}

// jobsOf returns the numbers of the jobs of all tenants that use a group.
func (d *dispatcher) jobsOf(g *relayGroup) (nos []int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jobs {
		if j.tenant.group == g {
			nos = append(nos, j.job.No)
		}
	}
	return nos
}

// jobsOfTenant returns the numbers of a tenant's jobs.
func (d *dispatcher) jobsOfTenant(t *tenantQueue) (nos []int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range t.jobs {
		nos = append(nos, j.job.No)
	}
	return nos
}

// signal wakes the claimer.
func (d *dispatcher) signal() {
	select {
	case d.low <- struct{}{}:
	default:
	}
}

// wake wakes all waiting connections.
func (d *dispatcher) wake() {
	d.mu.Lock()
	d.more.Broadcast()
	d.mu.Unlock()
}

// wakeIn wakes the connections at a given time. The caller holds the lock.
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

// push appends newly claimed items to a job's queue.
func (d *dispatcher) push(j *jobQueue, items []*item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if j.stopped {
		j.out -= len(items)
		d.signal()
		return
	}
	j.push(items)
	d.more.Broadcast()
}

// giveBack puts an unsent item back at the head of its job's queue. If the item made the relay end a connection, it
// goes to the end of the queue instead, so that others are tried first and the relay's pause doesn't grow.
func (d *dispatcher) giveBack(it *item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	j := it.job
	if j.stopped || d.closed {
		j.out--
		d.signal()
		return
	}
	if it.lost > 0 {
		j.push([]*item{it})
	} else {
		j.unpop(it)
	}
	d.more.Broadcast()
}

// settled subtracts n items whose outcome is recorded from a job's open items.
func (d *dispatcher) settled(j *jobQueue, n int) {
	d.mu.Lock()
	j.out -= n
	done := n > 0 && j.out == 0
	d.mu.Unlock()
	if done {
		d.signal()
	}
}

// replied counts a reply from a destination domain. slowed reports whether the domain's rate was halved, and to is the
// new rate in messages per second.
func (d *dispatcher) replied(g *relayGroup, domain string, refused bool, now time.Time) (slowed bool, to float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slowed, to = g.reply(domain, refused, now); slowed {
		d.retime(g, domain, now)
	}
	return slowed, to
}

// retime reschedules the parked items of a destination whose rate has changed. The caller holds the lock.
func (d *dispatcher) retime(g *relayGroup, domain string, now time.Time) {
	if g.retime(d.domains, domain, now) {
		d.wakeIn(g.parked[0].at, now)
	}
}
