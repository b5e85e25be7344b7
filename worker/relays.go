package worker

import (
	"context"
	"encoding/json"
	"sync"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/smtp"
	"newsletterd/store"
)

// relays are the relay groups of the daemon and of the tenants with relays of their own.
type relays struct {
	store    *store.Store
	limits   *limits
	inflight *inflight
	over     *flag // ends the waits of relays
	makes    func(*core.Relay) smtp.Sender
	own      *relayGroup // the daemon's

	mu     sync.Mutex // for those who read figures: only the claimer's goroutine changes the map
	groups map[string]*relayGroup
}

// newRelays returns the groups of a sender, which is the daemon's own at first.
func newRelays(s *Sender, own *relay) *relays {
	over := &s.dispatcher.ended
	return &relays{
		store: s.store, limits: s.limits, inflight: s.inflight, over: over, makes: s.opts.Relay,
		own: newRelayGroup("", over, own), groups: map[string]*relayGroup{},
	}
}

// of returns the group that a tenant's mails go by, and the tenant's own pace (nil: no limit). Only the claimer's
// goroutine calls it.
func (rs *relays) of(ctx context.Context, tenantID string) (*relayGroup, *pace, error) {
	route, err := rs.store.TenantRelays(ctx, tenantID)
	if err != nil {
		return nil, nil, err
	}
	p := rs.limits.of("tenant:"+tenantID, route.Limits)
	g := rs.groups[tenantID]
	if len(route.Relays) == 0 || rs.makes == nil {
		if g != nil {
			rs.replace(tenantID, nil)
		}
		return rs.own, p, nil
	}
	made, err := json.Marshal(route.Relays)
	if err != nil {
		return nil, nil, err
	}
	if g != nil && g.made == string(made) {
		return g, p, nil
	}
	list := make([]*relay, len(route.Relays))
	for i := range route.Relays {
		r := &route.Relays[i]
		list[i] = &relay{
			name: r.Label(), sender: rs.makes(r), connections: r.Connections, ahead: signAhead(r.Connections),
			skip: r.DKIMSkip, provider: mail.ProviderOfHost(r.Host),
			relayState: relayState{pace: rs.limits.of("relay:"+r.ID, r.Limits)},
		}
	}
	g = newRelayGroup(tenantID, rs.over, list...)
	g.made = string(made)
	rs.inflight.shared.Store(true)
	rs.replace(tenantID, g)
	return g, p, nil
}

// replace puts a group in the place of a tenant's present one, whose connections finish what is in flight. With nil the
// tenant has none any more.
func (rs *relays) replace(tenantID string, g *relayGroup) {
	if old := rs.groups[tenantID]; old != nil && old.cancel != nil {
		old.cancel()
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if g == nil {
		delete(rs.groups, tenantID)
		return
	}
	rs.groups[tenantID] = g
}

// all returns all groups, the daemon's own first.
func (rs *relays) all() []*relayGroup {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	groups := make([]*relayGroup, 1, 1+len(rs.groups))
	groups[0] = rs.own
	for _, g := range rs.groups {
		groups = append(groups, g)
	}
	return groups
}

// wake makes the connections that wait for their relay look again.
func (rs *relays) wake() {
	for _, g := range rs.all() {
		g.relays[0].wake()
	}
}

// forgetConnections lets the next step open connections anew.
func (rs *relays) forgetConnections() {
	for _, g := range rs.all() {
		g.cancel = nil
	}
}
