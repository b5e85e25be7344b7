package worker

import (
	"context"
	"sync"
	"time"

	"newsletterd/core"
)

// relayGroup holds the relays of a tenant, or of the daemon, in order of preference.
type relayGroup struct {
	owner  string // tenant id; empty: the daemon's own, shared by tenants without one
	made   string // settings that it was created from, to detect changes
	mu     sync.Mutex
	relays []*relay
	cancel context.CancelFunc // cancels its connections; nil: none run. Only the claimer's goroutine uses it

	// The dispatcher's lock guards the following fields.
	destinations
	queued   int       // items to hand out, for all tenants
	turn     int       // index of the tenant whose turn it is
	run      int       // items handed out in this turn
	runBegan time.Time // time of the first of them

	unanswered int // messages without a reply; guarded by inflight
}

// newRelayGroup returns a group of relays. The relays share a lock. Each is used only while the earlier ones can't be.
// Setting over ends all waits.
func newRelayGroup(owner string, over *flag, relays ...*relay) *relayGroup {
	g := &relayGroup{owner: owner, relays: relays}
	changed := sync.NewCond(&g.mu)
	var before []*relayState
	for _, r := range relays {
		r.group, r.relayState = g, newRelayState(&g.mu, changed, before, over, r.pace)
		before = append(before[:len(before):len(before)], &r.relayState)
	}
	return g
}

// downSince returns when the last working relay of the group went down, or zero if at least one works.
func (g *relayGroup) downSince() (since time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.relays {
		if r.fails == 0 {
			return time.Time{}
		}
		if r.downAt.After(since) {
			since = r.downAt
		}
	}
	return since
}

// waitReason returns why the group's jobs are waiting, or an empty string if they aren't.
func (g *relayGroup) waitReason(now time.Time) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var until time.Time
	for _, r := range g.relays {
		switch end := r.pace.spentUntil(now); {
		case !end.IsZero():
			until = end
		case r.fails == 0 || now.Sub(r.downAt) < waitShownAfter:
			return ""
		}
	}
	if until.IsZero() {
		return core.ReasonRelay
	}
	return core.HoldQuota("relay", core.At(until))
}
