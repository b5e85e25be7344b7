package handlers

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/identity"
)

// setupEnv returns a server without an operator, and the link with which the first operator creates an account.
func setupEnv(t *testing.T) (*pageEnv, string) {
	t.Helper()
	e := pageEnvLater(t)
	token, err := auth.SetupToken(t.Context(), e.store, core.At(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	return e, token
}

// inputs matches the named elements of forms. faultAt matches the place of an error text.
var (
	inputs  = regexp.MustCompile(`<(?:input|select|textarea)[^>]* name="([^"]+)"[^>]*>`)
	faultAt = regexp.MustCompile(`aria-describedby="(?:[^"]* )?([\w-]*(?:fault|wrong|hint))"`)
)

// marked returns the names of the inputs on a page that are marked as wrong, have the focus, and refer to an error text
// on the page.
func marked(page string) (names []string) {
	for _, m := range inputs.FindAllStringSubmatch(page, -1) {
		at := faultAt.FindStringSubmatch(m[0])
		if strings.Contains(m[0], ` aria-invalid="true"`) && strings.Contains(m[0], " autofocus") && at != nil &&
			strings.Contains(page, `id="`+at[1]+`"`) {
			names = append(names, m[1])
		}
	}
	return names
}

// The first operator creates an account with the link, is then signed in, and gets to the console.
func TestSetup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, token := setupEnv(t)
		code, page := e.page("GET", identity.SetupPath(token), nil)
		if code != 200 || !strings.Contains(page, wordsOfPages()["en"].SetupButton) {
			t.Fatal(code, textOf(page))
		}
		form := url.Values{"token": {token}, "name": {"Lisa"}, "email": {"lisa@example.org"}, "password": {"short"}}
		if code, page := e.page("POST", setupPath, form); code != 400 ||
			!strings.Contains(page, `value="lisa@example.org"`) ||
			!slices.Equal(marked(page), []string{"password"}) {
			t.Error("a short password:", code, marked(page), textOf(page))
		}
		form.Set("email", "lisa")
		if code, page := e.page("POST", setupPath, form); code != 400 || !slices.Equal(marked(page), []string{"email"}) {
			t.Error("no address:", code, marked(page), textOf(page))
		}
		form.Set("email", "lisa@example.org")
		form.Set("password", "correct horse battery")
		res := e.ask("POST", setupPath, form)
		if res.StatusCode != 303 || !strings.HasSuffix(res.Header.Get("Location"), "/console") {
			t.Fatal(res.StatusCode, res.Header)
		}
		if to := e.ask("GET", "/console", nil).Header.Get("Location"); !strings.HasSuffix(to, "/console/new-tenant") {
			t.Error("the console leads to", to)
		}
		_, page = e.page("GET", "/console/new-tenant", nil)
		if !strings.Contains(page, `type="hidden" name="in_team" value="1"`) {
			t.Error("the first operator is not in the team:", textOf(page))
		}
		u, err := e.store.UserByEmail(t.Context(), "lisa@example.org")
		if err != nil || !u.Operator() || !u.EmailVerified || u.Name != "Lisa" {
			t.Errorf("%+v, %v", u, err)
		}
		form.Set("email", "eve@example.org")
		if code, page := e.page("POST", setupPath, form); code != 400 || !strings.Contains(page, "setup-link") {
			t.Error("a second time:", code, textOf(page))
		}
		if _, err := auth.SetupToken(t.Context(), e.store, core.At(time.Now())); core.KindOf(err) != core.Conflict {
			t.Error("another link, though there is an operator:", err)
		}
	})
}

// The account keeps the language of the browser at setup. The first emails, about the mail server, are in it.
func TestSetupKeepsTheLanguage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, token := setupEnv(t)
		relay, tried := keptServer("directory"), core.RelayMail{}
		relay.TestOwn = func(_ context.Context, _ *core.Relay, m core.RelayMail) core.RelayTest {
			tried = m
			return core.RelayTest{Outcome: core.RelayAccepted}
		}
		p := e.handler.options.Auth
		var err error
		e.handler, err = New(Options{
			Store: e.store, Auth: p, PublicURL: "https://news.example.org", Bearer: p.Bearer, Relay: relay,
		})
		e.must(err)
		e.lang = "de-AT,de;q=0.9,en;q=0.5"
		e.ask("POST", setupPath, url.Values{
			"token": {token}, "email": {"lisa@example.org"}, "password": {"correct horse battery"},
		})
		e.lang = "fr"
		e.ask("POST", "/operator/mail-server", url.Values{
			"host": {"smtp.example.org"}, "port": {"587"}, "tls": {"starttls"}, "from": {"news@example.org"},
			"test_to": {"lisa@example.org"}, "act": {"save"},
		})
		if got := string(tried.Data); !strings.Contains(got, "\r\nSubject: Test des Mailservers\r\n") {
			t.Error("the test email:", got)
		}
		mails, err := e.store.DueMails(t.Context(), core.At(time.Now()), 10)
		e.must(err)
		if len(mails) != 1 || !strings.Contains(mails[0].Params, `"language":"de"`) {
			t.Errorf("the notice: %+v", mails)
		}
	})
}

// The From address of the mail server is proposed as the sender of the first newsletter, unless it is at a free mail
// provider, and the sender of the only newsletter as the mail server's From address.
func TestSetupAsksForTheSenderOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, token := setupEnv(t)
		relay := keptServer("directory")
		relay.State.From, relay.From = "newsletterd@localhost", "newsletterd@localhost"
		p := e.handler.options.Auth
		var err error
		e.handler, err = New(Options{
			Store: e.store, Auth: p, PublicURL: "https://news.example.org", Bearer: p.Bearer, Relay: relay,
		})
		e.must(err)
		e.ask("POST", setupPath, url.Values{
			"token": {token}, "email": {"lisa@example.org"}, "password": {"correct horse battery"},
		})
		const server, tenant = "/operator/mail-server", "/console/new-tenant"
		proposes := func(page, name, want string) {
			t.Helper()
			_, got := e.page("GET", page, nil)
			if !strings.Contains(got, `name="`+name+`" type="email" value="`+want+`"`) {
				t.Errorf("%s doesn't propose %q as %s", page, want, name)
			}
		}
		proposes(tenant, "mail_from", "")
		proposes(server, "from", "")
		form := url.Values{
			"host": {"smtp.example.org"}, "port": {"587"}, "tls": {"starttls"}, "from": {"lisa@gmail.com"},
			"test_to": {"lisa@example.org"}, "act": {"save"},
		}
		e.ask("POST", server, form)
		proposes(tenant, "mail_from", "")
		form.Set("from", "news@example.org")
		e.ask("POST", server, form)
		proposes(tenant, "mail_from", "news@example.org")
		e.ask("POST", server, url.Values{"act": {"remove"}, "sure": {"1"}})
		e.ask("POST", tenant, url.Values{"name": {"Roses"}, "language": {"en"}, "mail_from": {"hello@roses.example"}})
		proposes(server, "from", "hello@roses.example")
	})
}

// If operators must have a second factor, the first one sets it up before anything else is available.
func TestSetupWithASecondFactor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, token := setupEnv(t)
		e.handler.options.Auth.SecondFactor = auth.FactorStaff
		res := e.ask("POST", setupPath, url.Values{
			"token": {token}, "email": {"lisa@example.org"}, "password": {"correct horse battery"},
		})
		if to := res.Header.Get("Location"); res.StatusCode != 303 || !strings.Contains(to, codePath) ||
			!strings.Contains(to, "continue=%2Fconsole") {
			t.Fatal(res.StatusCode, to)
		}
		if code, page := e.page("GET", codePath, nil); code != 200 || !strings.Contains(page, "Two-factor authentication") {
			t.Error(code, textOf(page))
		}
		if to := e.ask("GET", "/console", nil).Header.Get("Location"); !strings.Contains(to, "/login") {
			t.Error("the console is open:", to)
		}
	})
}

// A link is valid for an hour, and only unchanged.
func TestSetupLinkEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, token := setupEnv(t)
		changed := strings.Replace(token, token[:1], map[bool]string{true: "B", false: "A"}[token[0] == 'A'], 1)
		for _, bad := range []string{"", "x", changed, token + "A"} {
			if code, _ := e.page("GET", identity.SetupPath(bad), nil); code != 400 {
				t.Errorf("%q: %d", bad, code)
			}
		}
		time.Sleep(auth.SetupTTL + time.Second)
		form := url.Values{"token": {token}, "email": {"lisa@example.org"}, "password": {"correct horse battery"}}
		if code, page := e.page("POST", setupPath, form); code != 400 || !strings.Contains(page, "hour") {
			t.Error(code, textOf(page))
		}
		if _, err := e.store.UserByEmail(t.Context(), "lisa@example.org"); core.KindOf(err) != core.NotFound {
			t.Error("there is an account:", err)
		}
	})
}
