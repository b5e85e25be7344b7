package handlers

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/handlers/console"
)

// newOperatorEnv returns a peopleEnv in which ann is an operator.
func newOperatorEnv(t *testing.T) *peopleEnv {
	t.Helper()
	e := newPeopleEnv(t, core.RoleViewer)
	ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
	e.must(err)
	e.must(e.store.GrantRole(t.Context(), ann.ID, core.Role{Role: core.RoleOperator}, false, e.seed.Time()))
	return e
}

// operates requests a page for operators, and checks its status and texts.
func (e *peopleEnv) operates(path string, status int, texts ...string) string {
	e.Helper()
	return e.showsBelow(console.OperatorPath, path, status, texts)
}

// orders posts a form of such a page, and returns where the response redirects.
func (e *peopleEnv) orders(path string, status int, form url.Values, texts ...string) (to string) {
	e.Helper()
	return e.sendsBelow(console.OperatorPath, path, status, form, texts)
}

// Users who only administer a tenant can't open any page for operators, and no page links to one.
func TestConsoleOfOperatorsIsTheirsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		e.shows("", http.StatusOK, "-"+console.OperatorPath)
		ids := strings.NewReplacer(":id", e.tenant.ID)
		n := 0
		for _, r := range e.handler.Routes() {
			if !strings.HasPrefix(r.Path, console.OperatorPath) {
				continue
			}
			n++
			var form url.Values
			if r.Method == "POST" {
				form = url.Values{"act": {"rotate"}}
			}
			status, body := e.page(r.Method, ids.Replace(r.Path), form)
			if status != http.StatusNotFound || strings.Contains(body, console.OperatorPath) {
				t.Errorf("%s %s: %d %s", r.Method, r.Path, status, textOf(body))
			}
		}
		if n < 3 {
			t.Errorf("%d routes of operators", n)
		}
		e.cookies = map[string]string{}
		res := e.ask("GET", console.OperatorPath+"?x=1", nil)
		if to := res.Header.Get("Location"); !strings.HasSuffix(to, "/login?continue=%2Foperator%3Fx%3D1") {
			t.Errorf("without a session: %d, leads to %q", res.StatusCode, to)
		}
	})
}

func TestConsoleShowsTheSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newOperatorEnv(t)
		o := e.handler.options
		o.Doctor = func(_ context.Context, dns bool) []core.Finding {
			found := []core.Finding{
				{Check: "clock", Level: core.LevelOK, Text: "The clock is right."},
				{Check: "relay", Level: core.LevelFault, Text: "The relay is away.", Advice: "Start it."},
				core.NewFinding("postal address", core.LevelWarning,
					core.Say("missing in the newsletters of %s, for example %s", core.Sentence{Text: "1 tenant"},
						"Acme"),
					core.Sentence{Text: "try again"}),
			}
			if dns {
				found = append(found, core.Finding{
					Check: "dkim", Level: core.LevelWarning, Text: "No DKIM record.", Advice: "Set public_url.",
				})
			}
			return found
		}
		var err error
		e.handler, err = New(o)
		e.must(err)
		e.shows("", http.StatusOK, `href="`+console.OperatorPath+`"`, "Server")
		e.operates("", http.StatusOK, "System", "Free disk space", "1 tenant · 1 list · 1 user", "ES256", "Active",
			"Create next keys", `aria-current="page"`)
		e.operates("/findings", http.StatusOK, "1 error to fix", "The relay is away.", "Start it.", "-No DKIM",
			"Also check DNS", "-are settings in the")
		e.operates("/findings?dns=true", http.StatusOK, "No DKIM record.", "-Also check DNS",
			"Names such as public_url are settings in the")
		e.lang = "de"
		e.operates("/findings", http.StatusOK, "Postanschrift",
			"Fehlt in den Newslettern von 1 Mandant, zum Beispiel Acme",
			"Versuchen Sie es noch einmal", "The relay is away.")
		e.lang = ""
		if to := e.orders("", http.StatusSeeOther, url.Values{"act": {"rotate"}}); to != "?done=keys-created" {
			t.Errorf("leads to %q", to)
		}
		e.operates("?done=keys-created", http.StatusOK, "Upcoming", "-Create next keys")
		e.orders("", http.StatusConflict, url.Values{"act": {"rotate"}},
			"The next signing keys already exist. They take over automatically.")
	})
}

func TestConsoleSendsAgainWhatWasGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newOperatorEnv(t)
		e.seed.Active(e.list.ID, "edith@reader.example")
		events := e.operates("/queues", http.StatusOK, "subscription.activated", e.tenant.Name, "Waiting", "Retry now")
		_, rest, _ := strings.Cut(events, `name="event_id" value="`)
		id, _, _ := strings.Cut(rest, `"`)
		if to := e.orders("/queues", http.StatusSeeOther, url.Values{"event_id": {id}}); to != "/queues?done=queued-again" {
			t.Errorf("leads to %q", to)
		}
		e.orders("/queues", http.StatusNotFound, url.Values{"event_id": {core.NewID()}})
		e.operates("/queues?state=dead", http.StatusOK, "-subscription.activated", `-<table class="table`)
		e.operates("/queues?what=mails", http.StatusOK, "wilma@reader.example")
		if to := e.orders("/queues", http.StatusSeeOther, url.Values{"what": {"mails"}}); to != "/queues?what=mails&done=queued-again" {
			t.Errorf("leads to %q", to)
		}
	})
}

func TestConsoleMailingsOfAllTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newOperatorEnv(t)
		job := e.seed.NewJob(e.list.ID)
		e.operates("/mailings", http.StatusOK, e.tenant.Name, "Scheduled", "Pause", "1", "1 sending or scheduled")
		act := func(name string) url.Values { return url.Values{"id": {job.ID}, "act": {name}} }
		if to := e.orders("/mailings", http.StatusSeeOther, act("pause")); to != "/mailings?done=paused" {
			t.Errorf("leads to %q", to)
		}
		e.operates("/mailings", http.StatusOK, "Paused", "Resume", "-Pause<")
		e.orders("/mailings", http.StatusSeeOther, act("resume"))
		e.orders("/mailings", http.StatusOK, act("cancel"), "Cancel sending?", job.ID)
		e.operates("/mailings", http.StatusOK, "Scheduled")
		sure := act("cancel")
		sure.Set("sure", "yes")
		e.orders("/mailings", http.StatusSeeOther, sure)
		e.operates("/mailings", http.StatusOK, "Canceled", `-value="cancel"`)
		e.orders("/mailings", http.StatusNotFound, url.Values{"id": {"x"}, "act": {"pause"}})
		e.orders("/mailings", http.StatusBadRequest, act("burn"))
	})
}

func TestConsoleUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newOperatorEnv(t)
		bob := core.NewUser("bob@user.example", e.seed.Time())
		e.must(e.store.AddUser(t.Context(), bob, "", e.seed.Time()))
		e.operates("/users", http.StatusOK, "ann@user.example", "bob@user.example", "Server administrator",
			"Viewer – "+e.tenant.Name)
		e.operates("/users?email=bob@user.example", http.StatusOK, "bob@user.example",
			"-href=\"/operator/users/"+core.NewID())
		e.operates("/users?email=no@user.example", http.StatusOK, "No users match your search.")
		at := "/users/" + bob.ID
		e.operates(at, http.StatusOK, "bob@user.example", "No sessions", "Delete account and data")
		act := func(name string, pairs ...string) url.Values {
			form := url.Values{"act": {name}}
			for i := 0; i < len(pairs); i += 2 {
				form.Set(pairs[i], pairs[i+1])
			}
			return form
		}
		role := []string{"role", core.RoleEditor, "tenant_id", e.tenant.ID}
		e.orders(at, http.StatusSeeOther, act("grant", role...))
		e.operates(at, http.StatusOK, "Remove role", "Editor")
		e.orders(at, http.StatusSeeOther, act("revoke", role...))
		e.operates(at, http.StatusOK, "-Remove role")
		e.orders(at, http.StatusBadRequest, act("grant", "role", core.RoleEditor), "banner bad")
		e.orders(at, http.StatusOK, act("disable"), "Disable this account?")
		e.operates(at, http.StatusOK, "-Disabled")
		e.orders(at, http.StatusSeeOther, act("disable", "sure", "yes"))
		e.operates(at, http.StatusOK, "Disabled", "Enable account")
		e.orders(at, http.StatusSeeOther, act("enable"))
		e.orders(at, http.StatusSeeOther, act("logout", "sure", "yes"))
		e.orders(at, http.StatusConflict, act("reset", "sure", "yes"),
			"This person doesn't use two-factor authentication. There is nothing to turn off.")
		e.orders(at, http.StatusBadRequest, act("burn"))
		e.orders(at, http.StatusOK, act("erase"), "Delete this account and its data?")
		if to := e.orders(at, http.StatusSeeOther, act("erase", "sure", "yes")); to != "/users?done=deleted" {
			t.Errorf("leads to %q", to)
		}
		e.operates(at, http.StatusNotFound)
		e.operates("/new-user", http.StatusOK, "Invite person", e.tenant.Name)
		invited := url.Values{"email": {"eve@user.example"}, "role": {core.RoleViewer}, "tenant_id": {e.tenant.ID}}
		if to := e.orders("/new-user", http.StatusSeeOther, invited); to != "/users?done=invited" {
			t.Errorf("leads to %q", to)
		}
		invited.Set("email", "no address")
		e.orders("/new-user", http.StatusBadRequest, invited, "no address", "banner bad")
	})
}

func TestConsoleTenantsOfOperators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newOperatorEnv(t)
		at := "/tenants/" + e.tenant.ID
		e.operates("/tenants", http.StatusOK, e.tenant.Name, "Active", console.Path+"/"+e.tenant.ID)
		_, err := e.store.UpdateTenant(t.Context(), e.tenant.ID, "test", func(of *core.Tenant) error {
			of.Relays = core.Relays{{
				ID: core.NewID(), Host: "relay.example", Username: "ann", Password: "hidden-word",
				TLS: "starttls",
			}}
			return nil
		})
		e.must(err)
		e.operates(at, http.StatusOK, "relay.example", "-hidden-word", "Suspend")
		e.orders(at, http.StatusOK, url.Values{"act": {"suspend"}}, "Suspend this tenant?")
		e.operates(at, http.StatusOK, "-Suspended")
		e.orders(at, http.StatusSeeOther, url.Values{"act": {"suspend"}, "sure": {"yes"}})
		e.operates(at, http.StatusOK, "Suspended", "Reactivate tenant")
		e.orders(at, http.StatusSeeOther, url.Values{"act": {"activate"}})
		for _, c := range []struct{ field, value, wrong, want string }{
			{"per_second", "many", "per_second", "Enter a whole number"},
			{"per_day", "20.000", "per_day", "Enter a whole number"},
			{"per_day", "-5", "per_day", "Enter a limit from 0 (no limit) to 1,000,000,000."},
			{"per_period", "100", "period_seconds", "from 1 to 86,400."},
			{"period_seconds", "60", "per_period", "Enter the number of emails per period"},
			{"period_seconds", "90000", "period_seconds", "from 1 to 86,400."},
		} {
			e.orders(at+"?done=saved", http.StatusBadRequest, url.Values{"act": {"limits"}, c.field: {c.value}},
				`value="`+c.value+`"`, c.want, `id="f-`+c.wrong+`-hint"`, "-Changes saved")
		}
		e.orders(at, http.StatusSeeOther, url.Values{"act": {"limits"}, "per_second": {"7"}, "per_day": {""}})
		got, err := e.store.Tenant(t.Context(), e.tenant.ID)
		if e.must(err); got.SendLimits.PerSecond != 7 || !got.Active() {
			t.Errorf("%+v, %s", got.SendLimits, got.Status)
		}
		e.operates("/tenants/"+core.NewID(), http.StatusNotFound)
	})
}

// The server page shows the versions and the progress of full syncs.
func TestConsoleOfSystemsVersionsAndSyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		e.must(e.store.GrantRole(t.Context(), e.ann.ID, core.Role{Role: core.RoleOperator}, false, e.seed.Time()))
		_, err := e.store.RequestSync(t.Context(), e.list.ID, e.seed.Time())
		e.must(err)
		p := e.handler.options.Auth
		e.handler, err = New(Options{
			Store: e.store, Auth: p, PublicURL: "https://news.example.org", Bearer: p.Bearer,
			Versions: Versions{Program: "1.2.3", Go: "go1.99", SQLite: "v9.9"},
		})
		e.must(err)
		if text := textOf(e.shows("/operator")); !strings.Contains(text, "1.2.3") || !strings.Contains(text, "v9.9") ||
			!strings.Contains(text, "Full syncs") || !strings.Contains(text, e.list.Name) ||
			!strings.Contains(text, "Waiting") {
			t.Error(text)
		}
	})
}
