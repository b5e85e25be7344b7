package worker

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/smtp"
)

// relay is one relay: how it is doing, what it may take, and what came of it.
type relay struct {
	relayState
	group       *relayGroup
	name        string
	sender      smtp.Sender
	connections int
	ahead       int      // mails that a connection lets be signed before their turn
	skip        []string // header fields that its relay changes
	provider    string   // kind of the mail provider behind its relay; empty: none
	tally       tally
}

// relayGroup are the relays of one tenant, or the daemon's own, in the order of use.
type relayGroup struct {
	owner  string // tenant; empty: the daemon's own, which all tenants without one share
	made   string // of what, so that a change is seen
	mu     sync.Mutex
	relays []*relay
	cancel context.CancelFunc // of its connections; nil: none run

	parked     parkedHeap           // guarded by the dispatcher: items of destinations that have had their share
	throttled  map[string]*throttle // guarded by the dispatcher: destinations that refuse mails for their number
	throttling flag                 // there are any, for those who do not hold the lock
	raiseAt    time.Time            // guarded by the dispatcher: no look at them before
	unanswered int                  // guarded by the gate
}

// newRelayGroup makes a group of relays; what they wait for is wired here.
func newRelayGroup(owner string, over *flag, relays ...*relay) *relayGroup {
	g := &relayGroup{owner: owner, relays: relays}
	changed := sync.NewCond(&g.mu)
	var before []*relayState
	for _, w := range relays {
		w.group, w.relayState = g, newRelayState(&g.mu, changed, before, over, w.pace)
		before = append(before[:len(before):len(before)], &w.relayState)
	}
	return g
}

// downSince is since when all relays are down; zero: one is not.
func (g *relayGroup) downSince() (since time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.relays {
		if w.fails == 0 {
			return time.Time{}
		}
		if w.downAt.After(since) {
			since = w.downAt
		}
	}
	return since
}

// groupOf is the group that a tenant's mails go by, and the tenant's own pace. Only the claimer calls it.
func (s *Sender) groupOf(ctx context.Context, tenantID string) (*relayGroup, *pace, error) {
	route, err := s.store.TenantRelays(ctx, tenantID)
	if err != nil {
		return nil, nil, err
	}
	p := s.paces.of("tenant:"+tenantID, route.Limits)
	g := s.groups[tenantID]
	if len(route.Relays) == 0 || s.opts.Relay == nil {
		if g != nil {
			s.keep(tenantID, nil)
		}
		return s.shared, p, nil
	}
	made, err := json.Marshal(route.Relays)
	if err != nil {
		return nil, nil, err
	}
	if g != nil && g.made == string(made) {
		return g, p, nil
	}
	relays := make([]*relay, len(route.Relays))
	for i := range route.Relays {
		r := &route.Relays[i]
		relays[i] = &relay{
			name: r.Label(), sender: s.opts.Relay(r), connections: r.Connections, skip: r.DKIMSkip,
			provider: mail.ProviderOfHost(r.Host), ahead: signAhead(r.Connections), relayState: relayState{pace: s.paces.of("relay:"+r.ID, r.Limits)},
		}
	}
	g = newRelayGroup(tenantID, &s.dispatcher.ended, relays...)
	g.made = string(made)
	s.gate.on.Store(true)
	s.keep(tenantID, g)
	return g, p, nil
}

// keep puts a group in the place of a tenant's present one, whose connections finish what is in flight; nil: it has none any more.
func (s *Sender) keep(tenantID string, g *relayGroup) {
	if old := s.groups[tenantID]; old != nil && old.cancel != nil {
		old.cancel()
	}
	s.groupsMu.Lock()
	defer s.groupsMu.Unlock()
	if g == nil {
		delete(s.groups, tenantID)
		return
	}
	s.groups[tenantID] = g
}

// reroute gives every tenant with running jobs the route that it has now.
func (s *Sender) reroute(ctx context.Context) error {
	s.dispatcher.mu.Lock()
	tenants := append([]*tenantQueue(nil), s.dispatcher.tenants...)
	s.dispatcher.mu.Unlock()
	for _, t := range tenants {
		g, p, err := s.groupOf(ctx, t.id)
		if err != nil {
			return err
		}
		s.dispatcher.setRoute(t, g, p)
		s.openConnections(g)
	}
	return nil
}

// openConnections starts the connections of a group, if none run and a step does.
func (s *Sender) openConnections(g *relayGroup) {
	if s.connections == nil || g.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.connections.ctx)
	g.cancel = cancel
	for _, w := range g.relays {
		for range w.connections {
			s.connections.wg.Go(func() { s.connection(ctx, w) })
		}
	}
}

// wakeRelays wakes the connections that wait for their relay: nothing is left to do.
func (s *Sender) wakeRelays() {
	for _, g := range append([]*relayGroup{s.shared}, slices.Collect(maps.Values(s.groups))...) {
		g.relays[0].wake()
	}
}

// connectionSet are the connections of one step.
type connectionSet struct {
	ctx context.Context
	wg  sync.WaitGroup
}

// maybeGiveUp fails the running jobs of a group that has been down for too long.
func (s *Sender) maybeGiveUp(ctx context.Context, g *relayGroup) {
	now := time.Now()
	if since := g.downSince(); since.IsZero() || now.Sub(since) < s.opts.GiveUpAfter {
		return
	}
	for _, t := range s.dispatcher.tenantsOf(g) {
		s.giveUp(ctx, t, now)
	}
}

func (s *Sender) giveUp(ctx context.Context, t *tenantQueue, now time.Time) {
	for _, no := range s.dispatcher.jobsOf(t) {
		if err := s.store.FailSendJob(ctx, no, core.ReasonRelay, core.At(now)); err != nil {
			s.opts.Log.Error("send: jobs cannot be given up", slog.Any("error", err))
		}
	}
}

// senderRefused holds one tenant back: a relay that refuses MAIL for good speaks of the sender, and others have another.
func (s *Sender) senderRefused(ctx context.Context, t *tenantQueue, re *smtp.RelayError) {
	now := time.Now()
	pause, since, fresh := s.dispatcher.refused(t, re, now)
	if !fresh {
		return
	}
	s.lookAtWaitReasons()
	s.opts.Log.Warn("send: the sender is refused", slog.String("tenant", t.id), slog.Any("error", re), slog.Duration("pause", pause))
	if now.Sub(since) >= s.opts.GiveUpAfter {
		s.giveUp(ctx, t, now)
	}
}

// gate shares the max_unrecorded slots between groups: one may have as many messages without a reply as are left for all
// others, so that a relay that never answers stops nobody else. While there is one group it is open.
type gate struct {
	on    flag
	mu    sync.Mutex
	room  *sync.Cond
	total int
}

// enter waits for room; false: ctx ended before.
func (t *gate) enter(ctx context.Context, g *relayGroup, size int) bool {
	stop := context.AfterFunc(ctx, func() {
		t.mu.Lock()
		t.room.Broadcast()
		t.mu.Unlock()
	})
	defer stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	for g.unanswered > 0 && g.unanswered >= size-t.total || t.total >= size {
		if ctx.Err() != nil {
			return false
		}
		t.room.Wait()
	}
	g.unanswered++
	t.total++
	return true
}

func (t *gate) leave(g *relayGroup) {
	t.mu.Lock()
	g.unanswered--
	t.total--
	t.mu.Unlock()
	t.room.Broadcast()
}
