package handlers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// RelayOptions is how mails leave.
type RelayOptions struct {
	State core.RelayState
	From  string // the daemon's own address
	// Test sends a mail by a relay of a tenant, with its password, or by the daemon's own where r is nil; nil: none can
	// be tested.
	Test func(ctx context.Context, r *core.Relay, m core.RelayMail) core.RelayTest
}

// relays serves /api/admin/relay.
type relays struct {
	store *store.Store
	RelayOptions
}

// relayRoutes are how mails leave, and how that is tried.
func (h *Handler) relayRoutes(t *web.Table) {
	a := relays{h.options.Store, h.options.Relay}
	may := admin(core.ActionTenantSettings)
	t.Add("GET", "/api/admin/relay", may, web.Member, web.Get(a.show),
		"Show what the mails of tenants without a relay of their own go out by; its address is for operators").
		Named("getRelay")
	t.Add("POST", "/api/admin/relay/test", may, web.Member,
		web.JSON(a.try).Fails(core.NotFound, core.Conflict, core.TooMany),
		"Send a test mail by a relay of a tenant, or by the daemon's own, and show the answer").Named("testRelay").
		Example(web.Object{"email": "ann@acme.example"}).
		Refuses(
			refused("relay_id", "It is no relay of the tenant"),
			badEmail,
			clashing("suppressed", "email", "The address is switched off"),
		)
}

func (a relays) show(c *web.Call) (core.RelayState, error) {
	s := a.State
	if s.Transport == "" {
		s.Transport = "directory"
	}
	if !c.Caller.May(core.ActionSystemRead, core.TenantNone) {
		s = core.RelayState{Transport: s.Transport}
	}
	return s, nil
}

// newRelayTest is the body of POST /api/admin/relay/test.
type newRelayTest struct {
	TenantID string `json:"tenant_id"` // empty, for operators: the daemon's own relay
	// one of the tenant's; empty: the first, or the daemon's own where there is none
	RelayID string     `json:"relay_id"`
	Email   core.Email `json:"email" is:"required"`
}

// Limits of tests: each is a mail, to any address.
const (
	relayTests       = 20
	relayTestsWindow = time.Hour
)

// try sends the mail while the caller waits.
func (a relays) try(c *web.Call, in newRelayTest) (out core.RelayTest, err error) {
	tenant, err := theTenant(c, in.TenantID)
	if err != nil {
		return out, err
	}
	from, r := a.From, (*core.Relay)(nil)
	if tenant != core.TenantNone {
		t, err := a.store.Tenant(c, tenant)
		if err != nil {
			return out, unknownTenant(err)
		}
		from = cmp.Or(t.MailFrom, from)
		if r, err = a.relayOf(c, tenant, in.RelayID); err != nil {
			return out, err
		}
	}
	if err := a.mayTest(c, in.Email, tenant); err != nil {
		return out, err
	}
	wait, err := a.store.Throttle(c, "relay-test:"+tenant, relayTests, relayTestsWindow, c.Now)
	if err == nil && wait > 0 {
		err = &core.Error{
			Kind: core.TooMany, Code: "rate_limited", Message: "Too many tests were asked for; try again later.",
			RetryAfter: int(wait/time.Second) + 1,
		}
	}
	if err != nil {
		return out, err
	}
	if a.Test == nil {
		return core.RelayTest{Outcome: core.RelayConnect, Answer: "no relay can be tested"}, nil
	}
	out = a.Test(c, r, core.RelayMail{From: from, To: string(in.Email), Data: testMail(from, string(in.Email), c.Now)})
	err = a.store.NoteRelayTest(context.WithoutCancel(c), tenant, in.Email, out.Outcome, actor(c), c.Now)
	if err != nil {
		return out, err
	}
	if r == nil && !c.Caller.May(core.ActionSystemRead, core.TenantNone) {
		out.Relay = ""
		if out.Code == 0 { // no reply: what our machine says names the address, or the directory
			out.Answer = ""
		}
	}
	return out, nil
}

// mayTest returns a conflict for an address that is switched off: no mail goes there, a test neither.
func (a relays) mayTest(c *web.Call, to core.Email, tenant string) error {
	stands, err := a.store.Suppressions(c, to, tenant)
	for i := range stands {
		if kind := stands[i].Kind; kind == core.KindDisabled || kind == string(core.StatusSuppressed) ||
			kind == string(core.StatusComplaint) {
			return &core.Error{
				Kind: core.Conflict, Code: "suppressed", Field: "email",
				Message: "The address is switched off: nothing is mailed to it.",
			}
		}
	}
	return err
}

// relayOf returns a relay of a tenant with its password; nil where the tenant has none of its own.
func (a relays) relayOf(c *web.Call, tenant, id string) (*core.Relay, error) {
	all, err := a.store.TenantRelays(c, tenant)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all.Relays, func(r core.Relay) bool { return id == "" || r.ID == id })
	switch {
	case i >= 0:
		return &all.Relays[i], nil
	case id != "":
		return nil, core.Invalidf("relay_id", "relay_id is no relay of the tenant.")
	}
	return nil, nil
}

// testMail returns the message of a test.
func testMail(from, to string, now core.Instant) []byte {
	domain := cmp.Or(core.Email(from).Domain(), "localhost")
	return []byte(strings.ReplaceAll(fmt.Sprintf(`From: <%s>
To: <%s>
Subject: Test of the mail server
Date: %s
Message-ID: <%s@%s>
Auto-Submitted: auto-generated
MIME-Version: 1.0
Content-Type: text/plain; charset=us-ascii

This mail shows that newsletterd can send by its mail server.
`, from, to, now.Time().UTC().Format("Mon, 02 Jan 2006 15:04:05 -0700"), core.NewID(), domain), "\n", "\r\n"))
}
