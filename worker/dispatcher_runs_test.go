package worker

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
)

// dispatchedBy returns a dispatcher with one job for each tenant, a relay of their group, and a function that takes the
// next item and returns its tenant.
func dispatchedBy(tenants ...string) (g *relayGroup, next func() string) {
	d := newDispatcher(nil)
	r := &relay{}
	g = newRelayGroup("", &d.ended, r)
	for i, id := range tenants {
		j := &jobQueue{job: core.SendJob{No: int64(i), TenantID: id}}
		d.add(j, g, nil)
		items := make([]*item, 10*runLength)
		for k := range items {
			items[k] = &item{job: j}
		}
		d.push(j, items)
	}
	return g, func() string {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.pop(r).job.job.TenantID
	}
}

// TestTurnsAreRuns checks that tenants take turns: a run of recipients each if emails are fast, or one recipient each
// if they are slow.
func TestTurnsAreRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, next := dispatchedBy("a", "b", "a")
		if g.queued != 30*runLength {
			t.Errorf("%d items are queued", g.queued)
		}
		for turn := range 8 {
			want := []string{"a", "b"}[turn%2]
			for i := range runLength {
				if got := next(); got != want {
					t.Fatalf("turn %d, item %d: %s, want %s", turn, i, got, want)
				}
			}
		}
		if g.queued != 22*runLength {
			t.Errorf("%d items are queued", g.queued)
		}
		for _, want := range []string{"a", "b", "a", "b"} {
			if got := next(); got != want {
				t.Errorf("slow emails: %s, want %s", got, want)
			}
			time.Sleep(runFor)
		}
	})
}

// Many jobs hold few claimed recipients each: a job needs no claim while half of its share is queued.
func TestManyJobsHoldFewRecipients(t *testing.T) {
	for jobs, want := range map[int]struct{ share, enough int }{
		1: {claimSize, claimSize/2 + 1}, 4: {claimSize / 4, claimSize/8 + 1}, 1000: {leastClaim, leastClaim/2 + 1},
	} {
		d := newDispatcher(nil)
		g := newRelayGroup("", &d.ended, &relay{})
		for i := range jobs {
			j := &jobQueue{job: core.SendJob{No: int64(i), TenantID: "a"}}
			d.add(j, g, nil)
			d.push(j, slices.Repeat([]*item{{job: j}}, want.enough))
		}
		if hungry, share := d.hungry(time.Now()); len(hungry) != 0 || share != want.share {
			t.Errorf("%d jobs: %d need a claim of %d, want %d", jobs, len(hungry), share, want.share)
		}
		for len(d.low) > 0 {
			<-d.low
		}
		d.mu.Lock()
		d.pop(&relay{group: g})
		d.mu.Unlock()
		if hungry, _ := d.hungry(time.Now()); len(hungry) != 1 || len(d.low) != 1 {
			t.Errorf("%d jobs, after one recipient: %d need a claim, %d signals", jobs, len(hungry), len(d.low))
		}
	}
}
