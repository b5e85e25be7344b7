package handlers

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/tenants"
)

func init() {
	// relay-tests TENANT: the tenant has sent all test emails allowed in this hour
	steps["relay-tests"] = func(e *env, name string, _ map[string]string) {
		const most = 20
		for range most {
			key := "relay-test:" + strings.TrimPrefix(e.value(name), "-")
			_, err := e.store.Throttle(e.t.Context(), key, most, time.Hour, core.At(time.Now()))
			e.must(err)
		}
	}
}

// relayConsole is a console whose mail server responds as answer does, and keeps the emails it got.
type relayConsole struct {
	*tenantConsole
	answer core.RelayTest
	relay  *core.Relay
	mail   core.RelayMail
}

func newRelayConsole(t *testing.T, role string) *relayConsole {
	e := &relayConsole{tenantConsole: newTenantConsole(t, role)}
	p := e.handler.options.Auth
	var err error
	e.handler, err = New(Options{
		Store: e.store, Auth: p, PublicURL: "https://news.example.org", Bearer: p.Bearer,
		Relay: tenants.RelayOptions{
			State: core.RelayState{
				Transport: "smtp", Host: "relay.daemon.example", Port: 587,
				TLS: "starttls",
			}, From: "d@daemon.example",
			Test: func(_ context.Context, r *core.Relay, m core.RelayMail) core.RelayTest {
				e.relay, e.mail = r, m
				return e.answer
			},
		},
	})
	e.must(err)
	return e
}

// In the checklist, the test of the mail server is checked off after a server has accepted a test, according to the
// audit log.
func TestConsoleStepOfTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newRelayConsole(t, core.RoleTenantAdmin)
		const done = `Test your mail server</a><span class="hidden-visually"> (done)`
		send := func() {
			t.Helper()
			to := url.Values{"email": {"me@acme.example"}}
			if status, got := e.page("POST", e.path("settings", "relay")+"/test", to); status != 200 {
				t.Errorf("%d: %s", status, textOf(got))
			}
		}
		if strings.Contains(e.shows(strings.TrimSuffix(e.path(), "/"), "Test your mail server"), done) {
			t.Error("nothing was sent")
		}
		e.answer = core.RelayTest{Outcome: core.RelayRefused}
		send()
		if strings.Contains(e.shows(strings.TrimSuffix(e.path(), "/")), done) {
			t.Error("it was refused")
		}
		e.answer = core.RelayTest{Outcome: core.RelayAccepted}
		send()
		e.shows(strings.TrimSuffix(e.path(), "/"), done)
		e.shows(e.path("settings", "audit"), "m***@acme.example")
		if e.seed.Audited("relay.test") != 2 {
			t.Error("a test is not in the audit trail")
		}
	})
}

// An administrator sends a test email and gets the result in plain words. Only operators see the address of the
// server's own relay.
func TestConsoleRelayTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newRelayConsole(t, core.RoleTenantAdmin)
		page := e.path("settings", "relay")
		got := e.shows(page, "Default mail server", "Only the server administrator can set up a separate mail server")
		if strings.Contains(got, "relay.daemon.example") || strings.Contains(got, `name="password"`) {
			t.Error("an administrator sees the daemon's relay, or can set one")
		}
		test := func(answer core.RelayTest, want string) {
			t.Helper()
			e.answer = answer
			status, got := e.page("POST", page+"/test", url.Values{"email": {"me@acme.example"}})
			if status != http.StatusOK || !strings.Contains(html.UnescapeString(got), want) {
				t.Errorf("%d, no %q in %s", status, want, textOf(got))
			}
			if strings.Contains(got, "relay.daemon.example") {
				t.Error("the answer tells where the daemon's relay is")
			}
		}
		test(core.RelayTest{Outcome: core.RelayAccepted, Relay: "relay.daemon.example:587"},
			"accepted the email to me@acme.example")
		entries, _, err := e.store.Audit(t.Context(), core.AuditFilter{Action: "relay.test"}, core.Page{Limit: 5})
		e.must(err)
		if len(entries) != 1 || entries[0].Object != "m***@acme.example" || entries[0].TenantID != e.tenant.ID {
			t.Errorf("the audit trail: %+v", entries)
		}
		if e.relay != nil || e.mail.From != "d@daemon.example" || e.mail.To != "me@acme.example" ||
			!strings.Contains(string(e.mail.Data), "\r\nTo: <me@acme.example>\r\n") {
			t.Errorf("%+v %+v", e.relay, e.mail)
		}
		test(core.RelayTest{Outcome: core.RelayAuth, Stage: "AUTH", Code: 535, Answer: "no such user"},
			"rejected the username or password")
		test(core.RelayTest{Outcome: core.RelayRefused, Code: 550, Answer: "unknown <mailbox>"},
			"550 unknown <mailbox>")
		test(core.RelayTest{Outcome: core.RelayTLS},
			"Can't connect securely. Under “Encryption”, choose STARTTLS for port 587 or SSL/TLS for port 465")
		test(core.RelayTest{
			Outcome: core.RelayConnect, Stage: "dial", Answer: "lookup relay.daemon.example on 10.0.0.1:53: no such host",
		}, "Can't connect to the mail server. Check the host name and port. Many hosting providers block port 25; try 587 or 465")
		e.refuses(page+"/test", url.Values{"email": {"nobody"}}, http.StatusBadRequest, `value="nobody"`)
		for range 20 {
			e.page("POST", page+"/test", url.Values{"email": {"me@acme.example"}})
		}
		e.refuses(page+"/test", url.Values{"email": {"me@acme.example"}}, http.StatusTooManyRequests,
			"Too many mail server tests")
		if status, _ := e.page("POST", page, url.Values{"host": {"other.example"}}); status != http.StatusForbidden {
			t.Errorf("an administrator sets a relay: %d", status)
		}
	})
}

// An operator sets a mail server for a tenant. Its password is never shown, and stays the same if none is entered.
func TestConsoleRelaySet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newRelayConsole(t, core.RoleTenantAdmin)
		e.must(e.store.GrantRole(t.Context(), e.ann.ID, core.Role{Role: core.RoleOperator}, false, e.seed.Time()))
		page := e.path("settings", "relay")
		e.shows(page, "relay.daemon.example:587", "Add a mail server for this newsletter")
		e.refuses(page, url.Values{
			"act": {"save"}, "host": {"smtp.acme.example"}, "username": {"us"},
			"tls": {"starttls"}, "port": {"x"},
		},
			http.StatusBadRequest, `value="smtp.acme.example"`, `id="f-port-new" name="port" type="number" value="x" aria-invalid="true"`)
		e.sends(page, url.Values{
			"act": {"save"}, "host": {"smtp.acme.example"}, "username": {"us"}, "password": {"hunter22"}, "tls": {"starttls"},
		})
		relays := func() core.Relays {
			t.Helper()
			all, err := e.store.TenantRelays(t.Context(), e.tenant.ID)
			e.must(err)
			return all.Relays
		}
		if r := relays(); len(r) != 1 || r[0].Host != "smtp.acme.example" || r[0].Port != 587 ||
			r[0].Password != "hunter22" {
			t.Fatalf("%+v", r)
		}
		if got := e.shows(page, "smtp.acme.example", "Password set"); strings.Contains(got, "hunter22") {
			t.Error("the password is shown")
		}
		change := url.Values{
			"act": {"save"}, "id": {relays()[0].ID}, "host": {"smtp.acme.example"}, "username": {"us"}, "tls": {"implicit"},
			"port": {"465"},
		}
		e.sends(page, change)
		if r := relays(); r[0].Password != "hunter22" || r[0].TLS != "implicit" {
			t.Errorf("%+v", r)
		}
		change.Set("host", "evil.example")
		e.refuses(page, change, http.StatusBadRequest, `value="evil.example"`)
		e.page("POST", page+"/test", url.Values{"email": {"me@acme.example"}})
		if e.relay == nil || e.relay.Host != "smtp.acme.example" || e.relay.Password != "hunter22" {
			t.Errorf("%+v", e.relay)
		}
		e.refuses(page, url.Values{"act": {"delete"}, "id": {relays()[0].ID}}, http.StatusBadRequest,
			"Check the box to confirm")
		e.sends(page, url.Values{"act": {"delete"}, "id": {relays()[0].ID}, "sure": {"1"}})
		if len(relays()) != 0 {
			t.Error("it is still there")
		}
		e.answer = core.RelayTest{
			Outcome: core.RelayConnect, Stage: "dial", Relay: "relay.daemon.example:587",
			Answer: "refused",
		}
		if _, got := e.page("POST", "/operator",
			url.Values{"act": {"test"}, "email": {"me@acme.example"}}); !strings.Contains(html.UnescapeString(got),
			"Can't connect to the mail server. Check the host name and port. Many hosting providers block port 25; try 587 or 465") || !strings.Contains(got, "relay.daemon.example:587 dial: refused") {
			t.Error(textOf(got))
		}
	})
}
