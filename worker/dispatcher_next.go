package worker

import (
	"context"
	"time"
)

// next hands out the next item for a relay. If none is ready, it waits, or returns nil if wait is false. It also
// returns nil if the dispatcher is closed, if ctx ends, or if an earlier relay in the group works again.
func (d *dispatcher) next(ctx context.Context, r *relay, wait bool) *item {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || ctx.Err() != nil || !r.serves() {
		return nil
	}
	if it := d.pop(r); it != nil || !wait {
		return it
	}
	stop := context.AfterFunc(ctx, d.wake)
	defer stop()
	for {
		if d.closed || ctx.Err() != nil || !r.serves() {
			return nil
		}
		if it := d.pop(r); it != nil {
			return it
		}
		d.more.Wait()
	}
}

// clock provides the current time. It reads the time only once, when it is first needed.
type clock struct{ at time.Time }

func (c *clock) now() time.Time {
	if c.at.IsZero() {
		c.at = time.Now()
	}
	return c.at
}

// A tenant's or a job's turn is a run of up to runLength recipients, as long as it takes less than runFor. This way,
// the outcomes in one commit belong to few jobs, which costs less. If emails are slow, a turn is a single recipient.
const (
	runLength = 32
	runFor    = 10 * time.Millisecond
)

// pop takes the next item for a relay: a parked item whose time has come, or else one from the tenant whose turn it is.
func (d *dispatcher) pop(r *relay) *item {
	var c clock
	if r.pace != nil && !d.open(r.pace, &c) {
		return nil
	}
	if r.group.throttling.Load() {
		for _, domain := range r.group.raise(c.now()) {
			d.retime(r.group, domain, c.now())
		}
	}
	it := d.popParked(r, &c)
	if it == nil {
		it = d.popTurn(r.group, &c)
	}
	if it == nil {
		return nil
	}
	p := it.job.tenant.pace
	if many := r.group.queued >= plenty && p == nil && r.pace == nil; many != d.plenty.Load() {
		d.plenty.Store(many)
	}
	if p != nil {
		p.take(c.now())
	}
	if r.pace != nil {
		r.pace.take(c.now())
	}
	return it
}

// popTurn takes an item from the tenant whose turn it is.
func (d *dispatcher) popTurn(g *relayGroup, c *clock) *item {
	if g.run >= runLength || g.run > 0 && c.now().Sub(g.runBegan) >= runFor {
		if g.turn < len(d.tenants) {
			d.tenants[g.turn].turn++
		}
		g.turn, g.run = g.turn+1, 0
	}
	for range d.tenants {
		if g.turn >= len(d.tenants) {
			g.turn = 0
		}
		if t := d.tenants[g.turn]; t.group == g && d.openTenant(t, c) {
			if it := d.popTenant(t, c); it != nil {
				if g.run++; g.run == 1 {
					g.runBegan = c.now()
				}
				return it
			}
		}
		g.turn, g.run = g.turn+1, 0
	}
	return nil
}

// open reports whether a pace permits a message now. If not, open schedules waking the connections.
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

// openTenant is like open: it reports whether a tenant's refusals and pace permit a message now.
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

// popTenant takes the next item from a tenant's jobs, which take turns. It parks items whose destination has reached
// its rate.
func (d *dispatcher) popTenant(t *tenantQueue, c *clock) *item {
	for range t.jobs {
		if t.turn >= len(t.jobs) {
			t.turn = 0
		}
		j := t.jobs[t.turn]
		for j.waiting() > 0 && j.parked < maxParked {
			it := j.pop()
			if j.waiting() == d.share/2 || j.waiting() == 0 {
				d.signal()
			}
			if it.timed || d.domains == nil && !t.group.throttling.Load() {
				it.timed = false
				return it
			}
			at := t.group.due(d.domains, it.EmailKey, c.now())
			if !at.After(c.now()) {
				return it
			}
			j.parked++
			t.group.parked.add(at, it)
			d.wakeIn(t.group.parked[0].at, c.now())
		}
		t.turn++
	}
	return nil
}

// popParked takes a parked item whose time has come.
func (d *dispatcher) popParked(r *relay, c *clock) *item {
	for h := &r.group.parked; len(*h) > 0; {
		if first := (*h)[0]; first.at.After(c.now()) {
			d.wakeIn(first.at, c.now())
			return nil
		}
		it := h.first()
		if it.job.parked--; it.job.parked == maxParked/2 {
			d.signal()
		}
		if d.openTenant(it.job.tenant, c) {
			return it
		}
		// The item goes back to its job, so that a tenant that must wait does not block others.
		it.timed = true
		it.job.unpop(it)
	}
	return nil
}
