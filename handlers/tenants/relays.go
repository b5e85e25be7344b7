package tenants

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/mail"
	"newsletterd/mail/notice"
	"newsletterd/store"
	"newsletterd/store/db"
)

// RelayOptions holds the settings for how emails are sent.
type RelayOptions struct {
	State core.RelayState // from the configuration; an empty transport means smtp
	From  string          // address of the server itself
	Kept  bool            // whether the default mail server can be set in the database; State applies until one is set
	// Locked is true if the mail server in the database can't be changed.
	Locked bool
	// Test sends an email through a tenant's relay r with its password. If r is nil, it uses the configured server. If
	// Test is nil, tests are unavailable.
	Test func(ctx context.Context, r *core.Relay, m core.RelayMail) core.RelayTest
	// TestOwn sends an email through r, which is the default mail server in the database or a candidate for it. TestOwn
	// must be set if Kept is true.
	TestOwn func(ctx context.Context, r *core.Relay, m core.RelayMail) core.RelayTest
}

// relays serves /api/admin/relay.
type relays struct {
	store *store.Store
	*RelayOptions
}

// relayRoutes adds the routes that show and test how emails are sent.
func (r *Room) relayRoutes(t *web.Table) {
	a := relays{r.Store, r.Relay}
	may := web.Admin(core.ActionTenantSettings)
	t.Add("GET", "/api/admin/relay", may, web.Member, web.Get(a.show),
		"Show the default mail server; only server administrators see its address").
		Named("getRelay")
	t.Add("POST", "/api/admin/relay/test", may, web.Member,
		web.JSON(a.try).Fails(core.NotFound, core.Conflict, core.TooMany),
		"Send a test email through a tenant's relay or the default mail server, and show the response").Named("testRelay").
		Example(web.Object{"email": "ann@acme.example"}).
		Refuses(
			web.Refused("relay_id", "Not one of the tenant's relays"),
			web.BadEmail,
			web.Clashing("suppressed", "email", "The address is blocked"),
		)
}

func (a relays) show(c *web.Call) (core.RelayState, error) {
	s, err := a.Now(c, a.store)
	if !c.Caller.May(core.ActionSystemRead, core.TenantNone) {
		s = core.RelayState{Transport: s.Transport}
	}
	return s, err
}

// newRelayTest is the body of POST /api/admin/relay/test.
type newRelayTest struct {
	TenantID string     `json:"tenant_id" about:"Tenant of the mail server; empty, for server administrators: the server's own"`
	RelayID  string     `json:"relay_id" about:"Mail server of the tenant to test; empty: its first, or the server's own"`
	Email    core.Email `json:"email" is:"required" about:"Address that gets the test email"`
}

// Limits for test emails, which can go to any address.
const (
	relayTests       = 20
	relayTestsWindow = time.Hour
)

// try sends the test email while the caller waits.
func (a relays) try(c *web.Call, in newRelayTest) (out core.RelayTest, err error) {
	tenant, err := web.TheTenant(c, in.TenantID)
	if err != nil {
		return out, err
	}
	from, r, mailFrom := a.From, (*core.Relay)(nil), ""
	if tenant != core.TenantNone {
		t, err := a.store.Tenant(c, tenant)
		if err != nil {
			return out, web.UnknownTenant(err)
		}
		mailFrom = t.MailFrom
		from = cmp.Or(mailFrom, from)
		if r, err = a.relayOf(c, tenant, in.RelayID); err != nil {
			return out, err
		}
	}
	if err := a.mayTest(c, "email", in.Email, tenant); err != nil {
		return out, err
	}
	if err := a.throttle(c, tenant); err != nil {
		return out, err
	}
	by := a.Test
	if r == nil && a.Kept {
		m, err := a.store.MailServer(c)
		if err != nil {
			return out, err
		}
		if m.Set() {
			r0 := m.Relay
			by = func(ctx context.Context, _ *core.Relay, m core.RelayMail) core.RelayTest {
				return a.TestOwn(ctx, &r0, m)
			}
			if mailFrom == "" {
				from = string(m.From)
			}
		}
	}
	if by == nil {
		return core.RelayTest{Outcome: core.RelayConnect, Answer: "no relay can be tested"}, nil
	}
	data, err := TestMail(from, string(in.Email), c.Language(), c.Now)
	if err != nil {
		return out, err
	}
	out = by(c, r, core.RelayMail{From: from, To: string(in.Email), Data: data})
	err = a.store.NoteRelayTest(context.WithoutCancel(c), tenant, in.Email, out.Outcome, web.Actor(c), c.Now)
	if err != nil {
		return out, err
	}
	if r == nil && !c.Caller.May(core.ActionSystemRead, core.TenantNone) {
		out.Relay = ""
		if out.Code == 0 { // without a reply, the error is local and contains the address or the directory
			out.Answer = ""
		}
	}
	return out, nil
}

// throttle counts a tenant's test email, and returns an error if there were too many.
func (a relays) throttle(c *web.Call, tenant string) error {
	wait, err := a.store.Throttle(c, "relay-test:"+tenant, relayTests, relayTestsWindow, c.Now)
	if err == nil && wait > 0 {
		err = &core.Error{
			Kind: core.TooMany, Code: "rate_limited", Message: "Too many mail server tests. Try again later.",
			RetryAfter: int(wait/time.Second) + 1,
		}
	}
	return err
}

// mayTest returns a conflict if the address is on a suppression list, because not even test emails are sent to it.
// field is the field with the address.
func (a relays) mayTest(c *web.Call, field string, to core.Email, tenant string) error {
	stands, err := a.store.Suppressions(c, to, tenant)
	for i := range stands {
		if kind := stands[i].Kind; kind == core.KindDisabled || kind == string(core.StatusSuppressed) ||
			kind == string(core.StatusComplaint) {
			return &core.Error{
				Kind: core.Conflict, Code: "suppressed", Field: field,
				Message: "This address is on the suppression list. Use another address.",
			}
		}
	}
	return err
}

// relayOf returns a tenant's relay with its password, or nil if the tenant has none.
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
		return nil, core.Invalidf("relay_id", "relay_id isn't one of the tenant's relays. Use the ID of one of them.")
	}
	return nil, nil
}

// TestMail returns the message for testing a mail server. If language is not one of core.Languages, the first one is
// used. It fails only if an address is invalid.
func TestMail(from, to, language string, now core.Instant) ([]byte, error) {
	text := notice.ServerTest(language)
	return mail.Compose(nil, &mail.Message{
		From: mail.Address{Email: from}, To: mail.Address{Email: to}, Subject: text.Subject, Text: text.Text,
		Date: now.Time().UTC(), MessageID: core.NewID(),
	})
}

// mailServerRoutes adds the routes for the default mail server.
func (r *Room) mailServerRoutes(t *web.Table) {
	a := relays{r.Store, r.Relay}
	may := web.Admin(core.ActionRelayManage)
	t.Add("PUT", "/api/admin/relay", may, web.Member,
		web.JSON(a.setServer).Fails(core.Conflict, core.TooMany),
		"Send a test email and, if it is accepted, save the default mail server").Named("setRelay").
		Example(web.Object{
			"relay": web.Object{
				"host": "smtp.example.com", "port": 587, "tls": "starttls", "username": "news",
				"password": "a password",
			},
			"from": "news@example.com", "test_to": "ann@example.com",
		}).
		Refuses(
			web.Refused("relay.host", "Not a host name"),
			web.Refused("relay.password", "The password is missing, and no saved password can be reused"),
			web.BadEmail,
			web.Clash("The test email was rejected, or the configuration file sets the mail server"),
			web.Clashing("suppressed", "test_to", "The address is on the suppression list"),
		)
	t.Add("DELETE", "/api/admin/relay", may, web.Member, web.Query(a.removeServer).Fails(core.NotFound, core.Conflict),
		"Remove the default mail server; emails are then saved to a folder").Named("removeRelay").
		Refuses(web.Clash("The configuration file sets the mail server"))
}

// Now returns the current mail server settings for tenants without their own relay.
func (o *RelayOptions) Now(ctx context.Context, s *store.Store) (core.RelayState, error) {
	state := o.State
	state.Transport = cmp.Or(state.Transport, "smtp")
	state.From = cmp.Or(state.From, o.From)
	if !o.Kept {
		return state, nil
	}
	state.Editable = !o.Locked
	m, err := s.MailServer(ctx)
	if errors.Is(err, db.ErrMasterKey) { // only the password is unreadable, and a new one can be entered
		err = nil
	}
	if err != nil || !m.Set() {
		return state, err
	}
	r := &m.Relay
	return core.RelayState{
		Transport: "smtp", Source: core.RelayConsole, Editable: !o.Locked, Host: r.Host, Port: r.Port, TLS: r.TLS,
		Username: r.Username, HasPassword: r.HasPassword, Limits: r.Limits, From: string(m.From),
		ChangedAt:     m.ChangedAt,
		KeyInDatabase: state.KeyInDatabase,
	}, nil
}

// Folder reports whether a tenant's emails are only saved to a folder, not sent.
func (o *RelayOptions) Folder(ctx context.Context, s *store.Store, t *core.Tenant) (bool, error) {
	if t != nil && len(t.Relays) > 0 {
		return false, nil
	}
	state, err := o.Now(ctx, s)
	return state.Transport == "directory", err
}

// Reaches returns an error if a tenant's emails don't go where a request expects. If testing is false, emails that are
// only saved to a folder cause core.ErrNoMailServer. If testing is true, emails that are really sent cause
// core.ErrMailServerSet.
func (o *RelayOptions) Reaches(ctx context.Context, s *store.Store, t *core.Tenant, testing bool) error {
	folder, err := o.Folder(ctx, s, t)
	switch {
	case err != nil:
		return err
	case folder && !testing:
		return core.ErrNoMailServer
	case !folder && testing:
		return core.ErrMailServerSet
	}
	return nil
}

// newMailServer is the body of PUT /api/admin/relay.
type newMailServer struct {
	Relay  core.Relay `json:"relay" is:"required" about:"Mail server to use"`
	From   core.Email `json:"from" is:"required" about:"Sender of emails about accounts, and of tenants without mail_from"`
	TestTo core.Email `json:"test_to" is:"required" about:"Address that gets a test email; the server is saved only if it accepts the email"`
}

// setServer stores a mail server if it accepts a test email.
func (a relays) setServer(c *web.Call, in newMailServer) (out core.RelayTest, err error) {
	m := core.MailServer{Relay: in.Relay, From: in.From}
	if err := a.CheckServer(c, a.store, &m); err != nil {
		return out, err
	}
	if err := a.mayTest(c, "test_to", in.TestTo, core.TenantNone); err != nil {
		return out, err
	}
	if err := a.throttle(c, core.TenantNone); err != nil {
		return out, err
	}
	return a.SetServer(c, a.store, &m, in.TestTo, c.Language(), web.Actor(c), c.Now)
}

// CheckServer validates a new default mail server and fills in missing fields. If the configuration sets the server, it
// returns a conflict.
func (o *RelayOptions) CheckServer(ctx context.Context, s *store.Store, m *core.MailServer) error {
	if err := o.editable(); err != nil {
		return err
	}
	was, err := s.MailServer(ctx)
	if errors.Is(err, db.ErrMasterKey) { // only the password is unreadable, and a new one can be entered
		was, err = core.MailServer{}, nil
	}
	if err == nil {
		err = m.Check(&was)
	}
	if mail.ProviderOfHost(m.Relay.Host) == "ses" && len(m.Relay.DKIMSkip) == 0 {
		m.Relay.DKIMSkip = core.Strings{"message-id", "date"} // Amazon SES writes its own values
	}
	return err
}

// SetServer makes a mail server that passed CheckServer the default if it accepts a test email. Otherwise, it returns a
// core.MailServerRefused and changes nothing. The test email and notices to server administrators who haven't chosen a
// language use language.
func (o *RelayOptions) SetServer(ctx context.Context, s *store.Store, m *core.MailServer, to core.Email,
	language, actor string, now core.Instant,
) (out core.RelayTest, err error) {
	from := string(m.From)
	data, err := TestMail(from, string(to), language, now)
	if err != nil {
		return out, err
	}
	out = core.RelayTest{Outcome: core.RelayConnect, Answer: "no relay can be tested"}
	if o.TestOwn != nil {
		out = o.TestOwn(ctx, &m.Relay, core.RelayMail{From: from, To: string(to), Data: data})
	}
	ctx = context.WithoutCancel(ctx) // the test email was sent
	if err := s.NoteRelayTest(ctx, core.TenantNone, to, out.Outcome, actor, now); err != nil {
		return out, err
	}
	if out.Outcome != core.RelayAccepted {
		return out, core.MailServerRefused(&out)
	}
	return out, s.SetMailServer(ctx, m, language, actor, now)
}

// RemoveServer removes the default mail server. If none is set, it returns core.ErrNotFound. If the configuration sets
// one, it returns a conflict. language is as for SetServer.
func (o *RelayOptions) RemoveServer(ctx context.Context, s *store.Store, language, actor string,
	now core.Instant,
) error {
	if err := o.editable(); err != nil {
		return err
	}
	return s.RemoveMailServer(ctx, language, actor, now)
}

func (a relays) removeServer(c *web.Call, _ struct{}) (web.None, error) {
	return web.None{}, a.RemoveServer(c, a.store, c.Language(), web.Actor(c), c.Now)
}

// editable returns a conflict if the configuration sets the server or locks it.
func (o *RelayOptions) editable() error {
	switch {
	case !o.Kept:
		return core.ErrMailServerInFile
	case o.Locked:
		return core.ErrMailServerLocked
	}
	return nil
}
