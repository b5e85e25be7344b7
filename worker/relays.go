package worker

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/smtp"
	"newsletterd/store"
	"newsletterd/store/db"
)

// relays holds the relay groups of the daemon and of tenants with their own relays.
type relays struct {
	store    *store.Store
	limits   *limits
	inflight *inflight
	over     *flag // ends all waits for relays
	makes    func(*core.Relay) smtp.Sender
	kept     *OwnServer  // nil: the configuration defines the daemon's own server
	own      *relayGroup // the daemon's group from the configuration

	mu     sync.Mutex // for figures: only the claimer's goroutine changes the map
	groups map[string]*relayGroup
}

// newRelays returns the relay groups for a sender. Initially, there is only the daemon's own.
func newRelays(s *Sender, own *relay) *relays {
	over := &s.dispatcher.ended
	return &relays{
		store: s.store, limits: s.limits, inflight: s.inflight, over: over, makes: s.opts.Relay, kept: s.opts.Own,
		own: newRelayGroup("", over, own), groups: map[string]*relayGroup{},
	}
}

// of returns the relay group for a tenant's emails, and the tenant's own pace. A nil pace means no limit. Only the
// claimer's goroutine may call it.
func (rs *relays) of(ctx context.Context, tenantID string) (*relayGroup, *pace, error) {
	route, err := rs.store.TenantRelays(ctx, tenantID)
	if err != nil {
		return nil, nil, err
	}
	p := rs.limits.of("tenant:"+tenantID, route.Limits)
	if len(route.Relays) > 0 && rs.makes != nil {
		g, err := rs.group(tenantID, "", route.Relays, rs.makes)
		return g, p, err
	}
	rs.drop(tenantID)
	if rs.kept == nil {
		return rs.own, p, nil
	}
	server, err := rs.kept.now(ctx)
	if err != nil {
		return nil, nil, err
	}
	if !server.Set() {
		rs.drop(core.TenantNone)
		return rs.own, p, nil
	}
	g, err := rs.group(core.TenantNone, server.From, server.Relays(), rs.kept.Makes)
	return g, p, err
}

// group returns the relay group of a tenant or, if owner is empty, of the daemon. If the relays have changed, it
// replaces the group. Only the daemon's server has a sender address, from.
func (rs *relays) group(owner string, from core.Email, all core.Relays, makes func(*core.Relay) smtp.Sender) (
	*relayGroup, error,
) {
	made, err := json.Marshal(struct {
		From core.Email
		All  core.Relays
	}{from, all})
	if err != nil {
		return nil, err
	}
	g := rs.groups[owner]
	if g != nil && g.made == string(made) {
		return g, nil
	}
	list := make([]*relay, len(all))
	for i := range all {
		r, scope := &all[i], "relay"
		if owner != core.TenantNone {
			scope = "relay:" + r.ID
		}
		list[i] = &relay{
			name: r.Label(), sender: makes(r), connections: r.Connections, ahead: signAhead(r.Connections),
			skip: r.DKIMSkip, provider: mail.ProviderOfHost(r.Host),
			relayState: relayState{pace: rs.limits.of(scope, r.Limits)},
		}
	}
	g = newRelayGroup(owner, rs.over, list...)
	g.made = string(made)
	rs.inflight.shared.Store(true)
	rs.replace(owner, g)
	return g, nil
}

// drop removes the group of an owner, if there is one.
func (rs *relays) drop(owner string) {
	if rs.groups[owner] != nil {
		rs.replace(owner, nil)
	}
}

// replace replaces a tenant's group. The old group's connections finish the emails in flight. A nil group removes the
// old one.
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

// all returns all groups. The daemon's own comes first.
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

// wake wakes the connections that are waiting for their relay.
func (rs *relays) wake() {
	for _, g := range rs.all() {
		g.relays[0].wake()
	}
}

// forgetConnections removes the connections of all groups, so that the next step opens new ones.
func (rs *relays) forgetConnections() {
	for _, g := range rs.all() {
		g.cancel = nil
	}
}

// OwnServer is the daemon's own mail server from the database. A nil OwnServer means that the configuration sets the
// server; its methods return their arguments. It is safe for concurrent use.
type OwnServer struct {
	Makes func(*core.Relay) smtp.Sender // creates the sender of a relay

	store *store.Store
	age   atomic.Int64 // number of times that the server may have changed

	mu     sync.Mutex
	readAt int64 // 1 + the age at which server was read
	server core.MailServer
}

// NewOwnServer returns the mail server in a store. makes returns a sender for it.
func NewOwnServer(s *store.Store, makes func(*core.Relay) smtp.Sender) *OwnServer {
	o := &OwnServer{Makes: makes, store: s}
	s.OnKick(db.TopicRecords, o.reread)
	return o
}

// reread makes the next call to now load the server from the database.
func (o *OwnServer) reread() {
	if o != nil {
		o.age.Add(1)
	}
}

// now returns the current server, or the zero value if none is set.
func (o *OwnServer) now(ctx context.Context) (core.MailServer, error) {
	if o == nil {
		return core.MailServer{}, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	age := o.age.Load() + 1
	if o.readAt == age {
		return o.server, nil
	}
	server, err := o.store.MailServer(ctx)
	if err == nil {
		o.server, o.readAt = server, age
	}
	return server, err
}

// from returns the sender address for tenants without one. If no server is set, it returns by.
func (o *OwnServer) from(ctx context.Context, by mail.Address) (mail.Address, error) {
	server, err := o.now(ctx)
	if server.From != "" {
		by.Email = string(server.From)
	}
	return by, err
}

// provider returns the kind of email provider that the server belongs to. If no server is set, it returns by.
func (o *OwnServer) provider(ctx context.Context, by string) (string, error) {
	server, err := o.now(ctx)
	if server.Set() {
		by = mail.ProviderOfHost(server.Relay.Host)
	}
	return by, err
}

// oldServerFor is how long after a server change notices about the change are first tried on the previous server.
const oldServerFor = time.Hour

// ownSender delivers transactional emails through the current server. It implements smtp.Sender.
type ownSender struct {
	*OwnServer
	otherwise smtp.Sender // used if no server is set
	// compose renders an email with the sender from, for a relay that changes the header fields in skips.
	compose func(ctx context.Context, q *core.Mail, from mail.Address, skips []string, now time.Time) (*smtp.Envelope, error)

	made   sync.Mutex
	as     string // relay that client was created for
	client smtp.Sender
}

// sender returns the smtp.Sender for a relay. It creates a new one only if the relay has changed.
func (s *ownSender) sender(r *core.Relay) (smtp.Sender, error) {
	as, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	s.made.Lock()
	defer s.made.Unlock()
	if s.as != string(as) {
		s.as, s.client = string(as), s.Makes(r)
	}
	return s.client, nil
}

// Deliver implements smtp.Sender. It ends when a different server is set, so that the new one delivers the remaining
// emails. Notices about the change are first tried on the previous server.
func (s *ownSender) Deliver(ctx context.Context, src *smtp.Source) error {
	age := s.age.Load()
	server, err := s.now(ctx)
	if err != nil {
		return err
	}
	to := s.otherwise
	if server.Set() {
		if to, err = s.sender(&server.Relay); err != nil {
			return err
		}
	}
	old := &oldServer{own: s}
	one := *src
	one.Next = func(ctx context.Context, wait bool) (*smtp.Envelope, bool) {
		for {
			if s.age.Load() != age {
				if now, err := s.now(ctx); err != nil || now.ChangedAt != server.ChangedAt {
					return nil, false
				}
				age = s.age.Load()
			}
			e, ok := src.Next(ctx, wait)
			if ok && s.age.Load() != age {
				if now, err := s.now(ctx); err != nil || now.ChangedAt != server.ChangedAt {
					src.Done(e, smtp.Outcome{Result: smtp.Untouched}) // the mailer rereads it, for the new server
					return nil, false
				}
			}
			if !ok || !old.takes(ctx, e, src) {
				return e, ok
			}
		}
	}
	return to.Deliver(ctx, &one)
}

// oldServer delivers notices about a server change through the previous server.
type oldServer struct {
	own    *ownSender
	read   bool
	before core.MailServer
	sender smtp.Sender // nil: no previous server, changed long ago, or failed
}

// takes tries to deliver an email through the old server, if it is a notice about the change. It reports whether the
// server accepted the email.
func (o *oldServer) takes(ctx context.Context, e *smtp.Envelope, src *smtp.Source) bool {
	m, ok := e.Tag.(*core.Mail)
	if !ok || m.Kind != core.MailServerChanged || m.Tries > 0 {
		return false
	}
	if !o.read {
		before, err := o.own.store.MailServerBefore(ctx)
		if err != nil {
			return false
		}
		o.read, o.before = true, before
		if before.Set() && time.Since(before.ChangedAt.Time()) < oldServerFor {
			o.sender = o.own.Makes(&before.Relay)
		}
		if c, ok := o.sender.(*smtp.Client); ok { // the emails after this one wait meanwhile
			const step = 5 * time.Second
			c.DrainTimeout = time.Second
			c.Timeouts = smtp.Timeouts{
				Dial: step, Greeting: step, Mail: step, Rcpt: step, Data: step, Block: step, Dot: step,
				Quit:   time.Second,
				Closed: time.Second,
			}
		}
	}
	if o.sender == nil || src.Commit != nil && !src.Commit(e, true) {
		return false
	}
	from := mail.Address{Email: string(o.before.From)}
	again, err := o.own.compose(ctx, m, from, o.before.Relay.DKIMSkip, time.Now())
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	became, err := smtp.Try(ctx, o.sender, again)
	if err != nil { // The server is down, perhaps the reason for the change. The others use the new one.
		o.sender = nil
	}
	if err != nil || became.Result != smtp.Sent {
		return false
	}
	src.Done(e, became)
	return true
}
