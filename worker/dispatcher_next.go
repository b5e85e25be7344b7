package worker

import (
	"context"
	"time"
)

// next hands out the next item for relay r. If none is ready, next waits or, if wait is false, returns nil. It also
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

// clock provides the time for one call. It reads the time when it is first needed, and only once.
type clock struct{ at time.Time }

func (c *clock) now() time.Time {
	if c.at.IsZero() {
		c.at = time.Now()
	}
	return c.at
}

// The turn of a tenant or job has up to runLength recipients, but ends after runFor. Runs cost less, because the
// outcomes in a commit then belong to few jobs. If emails are slow, a turn has a single recipient.
const (
	runLength = 32
	runFor    = 10 * time.Millisecond
)

// pop takes the next item for relay r: a parked item whose time has come or, if there is none, an item of the tenant
// whose turn it is.
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

// open reports whether a pace permits a message now. If not, it makes sure that the connections wake up when the pace
// does.
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

// openTenant is like open for a tenant: it reports whether the tenant may send. A tenant may also be paused because its
// sender was refused.
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

// popTenant takes the next item of a tenant, whose jobs take turns. It parks items whose destination has reached its
// rate.
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

// popParked takes a parked item whose destination permits a message again.
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
