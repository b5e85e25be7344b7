package handlers

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/handlers/tenants"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

func init() {
	// relay-locked: the configuration doesn't allow setting the mail server
	steps["relay-locked"] = func(e *env, _ string, _ map[string]string) { e.handler.options.Relay.Locked = true }
	setups = append(setups, func(_ *env, o *Options) { o.Relay = keptServer("smtp") })
}

// keptServer returns options with which server administrators can set the mail server, and every server but one accepts
// the test. transport is how emails are sent while none is set.
func keptServer(transport string) tenants.RelayOptions {
	return tenants.RelayOptions{
		Kept: true, From: "d@daemon.example", State: core.RelayState{Transport: transport, Directory: "./mail"},
		TestOwn: func(_ context.Context, r *core.Relay, _ core.RelayMail) core.RelayTest {
			if r.Host == "refuses.example.org" {
				return core.RelayTest{
					Outcome: core.RelayAuth, Relay: r.Address(), Stage: "AUTH", Code: 535, Enhanced: "5.7.8", Answer: "bad credentials",
				}
			}
			return core.RelayTest{Outcome: core.RelayAccepted, Relay: r.Address(), Code: 250, Answer: "queued"}
		},
	}
}

// Without a mail server, no campaign counts as sent. Each page says so to every role, and sending is refused unless
// testing is requested. When a server administrator sets a server in the browser, all of this ends.
func TestConsoleWithoutAMailServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		p := e.handler.options.Auth
		var err error
		e.handler, err = New(Options{
			Store: e.store, Auth: p, PublicURL: "https://news.example.org", Bearer: p.Bearer, Relay: keptServer("directory"),
		})
		e.must(err)
		const banner = `id="no-mail-server"`
		for _, page := range []string{strings.TrimSuffix(e.path(), "/"), e.path("campaigns"), e.path("people"), e.path("settings")} {
			if got := e.shows(page, banner); strings.Contains(got, "/operator/mail-server") {
				t.Errorf("%s leads an administrator to a page that isn't theirs", page)
			}
		}
		if status, _ := e.page("GET", "/operator/mail-server", nil); status != http.StatusNotFound {
			t.Errorf("an administrator sees the page: %d", status)
		}
		e.must(e.store.GrantRole(t.Context(), e.ann.ID, core.Role{Role: core.RoleOperator}, false, e.seed.Time()))
		const page = "/operator/mail-server"
		e.shows(strings.TrimSuffix(e.path(), "/"), banner, `href="/operator/mail-server"`)
		if strings.Contains(e.shows(page, banner, "Amazon SES", "Postmark", "./mail"), "Set up mail server") {
			t.Error("the banner links to its own page")
		}
		e.shows(page+"?provider=gmail", `value="smtp.gmail.com"`, `value="587"`, "App password", `value="500"`,
			`<details class="advanced"><summary>`, "Enter only the address, without a name.")
		form := url.Values{
			"host": {"refuses.example.org"}, "port": {"587"}, "tls": {"starttls"}, "username": {"u"}, "password": {"hunter2"},
			"from": {"news@acme.example"}, "test_to": {"me@acme.example"}, "act": {"save"},
		}
		status, got := e.page("POST", page, form)
		if status != http.StatusConflict || !strings.Contains(got, "rejected the username or password") ||
			!strings.Contains(got, "refuses.example.org:587 535 5.7.8 bad credentials") ||
			strings.Contains(got, "hunter2") ||
			!strings.Contains(got, `value="refuses.example.org"`) {
			t.Errorf("%d %s", status, textOf(got))
		}
		e.shows(page, banner)
		form.Set("host", "smtp.acme.example")
		form.Set("from", "nobody")
		e.refuses(page, form, http.StatusBadRequest, `aria-invalid="true"`)
		form.Set("from", "news@acme.example")
		e.sends(page, form)
		if got := e.shows(page, "smtp.acme.example:587", "news@acme.example"); strings.Contains(got, banner) ||
			strings.Contains(got, "hunter2") {
			t.Error("the server is not in force, or its password is shown")
		}
		e.shows(page, `provider=own#server" aria-current="true"`, "Leave blank to keep the current password.",
			`<details class="advanced"><summary>`) // the provider is unknown, so its port is not an advanced setting
		e.shows(page+"?done=mail-server", `href="/console">Back to your newsletters`)
		form.Set("host", "email-smtp.us-east-1.amazonaws.com")
		e.sends(page, form)
		e.shows(page, `provider=ses#server" aria-current="true"`, `value="email-smtp.us-east-1.amazonaws.com"`)
		if strings.Contains(e.shows(strings.TrimSuffix(e.path(), "/"),
			`Test your mail server</a><span class="hidden-visually"> (done)`), banner) {
			t.Error("the banner stays")
		}
		if e.seed.Audited("mail-server.set") != 2 {
			t.Error("it is not in the audit log")
		}
		e.sends(page, url.Values{"act": {"remove"}, "sure": {"1"}})
		e.shows(page, banner)
	})
}

// Without a key file, the page says next to the field what happens to the password, and warns if there is one. It shows
// the encryption in words.
func TestConsoleWarnsOfAnUnencryptedPassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		p, relay := e.handler.options.Auth, keptServer("directory")
		relay.State.KeyInDatabase = true
		var err error
		e.handler, err = New(Options{
			Store: e.store, Auth: p, PublicURL: "https://news.example.org", Bearer: p.Bearer, Relay: relay,
		})
		e.must(err)
		e.must(e.store.GrantRole(t.Context(), e.ann.ID, core.Role{Role: core.RoleOperator}, false, e.seed.Time()))
		const page, warning = "/operator/mail-server", `id="unencrypted"`
		form := url.Values{
			"host": {"localhost"}, "port": {"25"}, "tls": {"none"}, "from": {"news@acme.example"},
			"test_to": {"me@acme.example"}, "act": {"save"},
		}
		const notice = "Backups of this server will contain the password."
		e.shows(page, notice)
		e.sends(page, form)
		got := e.shows(page, notice, "<dd>None (only on the same machine)</dd>")
		if strings.Contains(got, warning) {
			t.Error("it warns about a password that there isn't")
		}
		form.Set("tls", "starttls")
		form.Set("username", "news")
		form.Set("password", "hunter2")
		form.Set("host", "refuses.example.org")
		e.refuses(page, form, http.StatusConflict, warning, "Enter the password again.")
		form.Set("host", "smtp.example.org")
		e.sends(page, form)
		if strings.Contains(e.shows(page, warning, "<dd>STARTTLS (port 587)</dd>"), notice) {
			t.Error("it says twice that backups contain the password")
		}
	})
}

// The console and the API can't change what the configuration sets or locks.
func TestTheConfigurationsMailServerStays(t *testing.T) {
	for name, o := range map[string]tenants.RelayOptions{
		"mail_server_in_file": {State: core.RelayState{Transport: "smtp", Source: core.RelayFile}},
		"mail_server_locked":  {Kept: true, Locked: true},
	} {
		m := core.MailServer{Relay: core.Relay{Host: "smtp.example.org"}, From: "a@example.org"}
		err := o.CheckServer(t.Context(), nil, &m)
		if e, ok := err.(*core.Error); !ok || e.Code != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// If the key of the password is lost, the page and the API still show the settings, and another server can be set.
func TestAMailServerWhoseKeyIsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "newsletterd.db")
	if err := storetest.OpenWith(t, db.Options{Path: path}).Close(); err != nil { // only this key is sealed
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), db.Options{Path: path, MasterKey: bytes.Repeat([]byte{1}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	o := keptServer("directory")
	m := core.MailServer{
		Relay: core.Relay{Host: "smtp.example.org", Username: "news", Password: "a secret"}, From: "news@example.org",
	}
	if err := o.CheckServer(t.Context(), s, &m); err != nil {
		t.Fatal(err)
	}
	if _, err := o.SetServer(t.Context(), s, &m, "op@example.org", "", "test", 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	lost, err := store.Open(t.Context(), db.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer lost.Close()
	state, err := o.Now(t.Context(), lost)
	if err != nil || state.Host != "smtp.example.org" || !state.HasPassword {
		t.Errorf("%+v %v", state, err)
	}
	m = core.MailServer{Relay: core.Relay{Host: "smtp.example.org", Username: "news"}, From: "news@example.org"}
	if err := o.CheckServer(t.Context(), lost, &m); core.KindOf(err) != core.Invalid {
		t.Errorf("without a password: %v", err)
	}
	m.Relay.Password = "another"
	if err := o.CheckServer(t.Context(), lost, &m); err != nil {
		t.Error(err)
	}
}
