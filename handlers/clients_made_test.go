package handlers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/store/tenants"
)

// makesClient lets ann create a client in the console, and returns the client.
func (e *tenantConsole) makesClient(name string) core.Client {
	e.Helper()
	status, page := e.page("POST", e.path("settings", "clients"), url.Values{
		"name": {name}, "scope." + core.ScopeSend: {"1"},
	})
	if status != http.StatusCreated {
		e.Fatalf("%d: %s", status, textOf(page))
	}
	return e.clientNamed(name)
}

// endpointBy adds a webhook endpoint of the tenant, created by an actor.
func (e *tenantConsole) endpointBy(actor string) core.Endpoint {
	e.Helper()
	n := core.Endpoint{ID: core.NewID(), TenantID: e.tenant.ID, CreatedAt: e.seed.Time()}
	e.must(n.Change(core.EndpointInput{URL: new("https://crm.test/" + n.ID)}, n.CreatedAt))
	e.must(e.store.AddEndpoint(e.Context(), n, make([]byte, 32), actor))
	return n
}

// clientNamed reads a client of the tenant. If there is none, it returns the zero Client.
func (e *tenantConsole) clientNamed(name string) core.Client {
	e.Helper()
	found, err := e.store.Clients(e.Context(), []string{e.tenant.ID}, false, core.Page{Limit: 100})
	e.must(err)
	for _, c := range found {
		if c.Name == name {
			return c
		}
	}
	return core.Client{}
}

// Someone who has taken over an old session can't create a client, which would outlive the session.
func TestAnOldSessionMakesNoClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		shop := e.makesClient("Shop")
		if shop.CreatedBy != core.UserActor(e.ann.ID) {
			t.Errorf("created by %q", shop.CreatedBy)
		}
		e.shows(e.path("settings", "clients"), "Created by "+shop.CreatedByName)
		time.Sleep(core.ProofAge + time.Minute)
		one := e.path("settings", "clients", shop.ID)
		for path, form := range map[string]url.Values{
			e.path("settings", "clients"): {"name": {"Second"}, "scope." + core.ScopeSend: {"1"}},
			one + "/rotate":               {"_": {"1"}}, one + "/switch": {"disabled": {"1"}}, one + "/delete": {"sure": {"1"}},
		} {
			if status, page := e.page("POST", path, form); status != 200 || !strings.Contains(page, `name="password"`) {
				t.Errorf("%s by an old session: %d: %s", path, status, textOf(page))
			}
		}
		now := e.clientNamed("Shop")
		if e.clientNamed("Second").ID != "" || now.ID == "" || now.DisabledAt != 0 ||
			string(now.SecretHash) != string(shop.SecretHash) {
			t.Error("an old session changed something")
		}
	})
}

// The owners of a tenant, and the user who created a client, get an email about it. The email links to the client and
// contains no secret.
func TestOwnersAreToldOfNewClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		for email, role := range map[core.Email]string{
			"owner@acme.example": core.RoleTenantAdmin, "writer@acme.example": core.RoleEditor,
		} {
			u := core.NewUser(email, e.seed.Time())
			u.EmailVerified, u.Roles = true, []core.Role{{Role: role, TenantID: e.tenant.ID}}
			e.must(e.store.AddUser(t.Context(), u, "", e.seed.Time()))
		}
		shop := e.makesClient("Shop")
		mails, err := e.store.DueMails(t.Context(), core.At(time.Now()), 10)
		e.must(err)
		heard := map[core.Email]bool{}
		for _, m := range mails {
			heard[m.Email] = m.Kind == core.MailClientAdded && m.TokenID == shop.ID && m.TenantID == e.tenant.ID &&
				m.Params == "{}"
		}
		if len(mails) != 2 || !heard["owner@acme.example"] || !heard["ann@user.example"] {
			t.Errorf("%+v", mails)
		}
		// An operator who creates a client for the tenant gets an email, too.
		op := e.seed.NewUser("op@user.example", "", func(u *core.User) {
			u.Roles = []core.Role{{Role: core.RoleOperator, TenantID: core.TenantNone}}
		})
		robot, _, err := core.NewClient(core.ClientInput{Name: new("Robot"), TenantID: &e.tenant.ID}, true, e.seed.Time())
		e.must(err)
		e.must(e.store.AddClient(t.Context(), robot, core.UserActor(op.ID)))
		mails, err = e.store.DueMails(t.Context(), core.At(time.Now()), 10)
		e.must(err)
		for _, m := range mails {
			heard[m.Email] = heard[m.Email] || m.TokenID == robot.ID
		}
		if len(mails) != 5 || !heard[op.Email] {
			t.Errorf("created by an operator: %+v", mails)
		}
		said, err := e.store.ClientMail(t.Context(), shop.ID)
		e.must(err)
		if said.Name != "Shop" || said.By == "" || said.Scopes != core.ScopeSend || said.At != shop.CreatedAt {
			t.Errorf("%+v", said)
		}
	})
}

// If a user creates dozens of clients, each owner gets a few emails, and one more that lists the other clients.
func TestMailsAboutClientsAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		begun := core.At(time.Now())
		made := func(n int) {
			for range n {
				name := "Shop"
				c, _, err := core.NewClient(core.ClientInput{Name: &name, TenantID: &e.tenant.ID}, true, core.At(time.Now()))
				e.must(err)
				e.must(e.store.AddClient(t.Context(), c, core.UserActor(e.ann.ID)))
				time.Sleep(time.Second)
			}
		}
		due := func() (kinds map[string]int, gathered core.Mail) {
			mails, err := e.store.DueMails(t.Context(), core.At(time.Now()), 100)
			e.must(err)
			kinds = map[string]int{}
			for _, m := range mails {
				if kinds[m.Kind]++; m.Kind == core.MailClientsAdded {
					gathered = m
				}
			}
			return kinds, gathered
		}
		made(20)
		if kinds, _ := due(); kinds[core.MailClientAdded] != 5 || kinds[core.MailClientsAdded] != 0 {
			t.Errorf("at once: %v", kinds)
		}
		time.Sleep(time.Hour)
		kinds, m := due()
		if kinds[core.MailClientAdded] != 5 || kinds[core.MailClientsAdded] != 1 ||
			m.Params != fmt.Sprintf(`{"since":%q}`,
				core.Instant(begun.Add(5*time.Second)).String()) || m.TenantID != e.tenant.ID {
			t.Errorf("after an hour: %v, %+v", kinds, m)
		}
		said, err := e.store.ClientsMail(t.Context(), m.TenantID, begun.Add(5*time.Second))
		if err != nil || said.Name != strings.Repeat("Shop, ", 10)+"… (15)" {
			t.Errorf("%+v, %v", said, err)
		}
		if _, err := e.store.ClientsMail(t.Context(), m.TenantID, begun.Add(time.Hour)); core.KindOf(err) != core.NotFound {
			t.Error(err)
		}
		made(1)
		if kinds, _ := due(); kinds[core.MailClientAdded] != 6 {
			t.Errorf("in the next hour: %v", kinds)
		}
	})
}

// Every action that ends a user's sessions lists the clients that the user has created and, on request, disables them.
func TestEndingSessionsDisablesClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		shop := e.makesClient("Shop")
		own, its := e.endpointBy(shop.CreatedBy), e.endpointBy("client:"+shop.ID)
		other := e.endpointBy("user:" + core.NewID())
		family := core.Family{
			ID: core.NewID(), Kind: core.FamilyClient, ClientID: shop.ID, TenantID: e.tenant.ID,
			ExpiresAt: core.At(time.Now().Add(24 * time.Hour)),
		}
		e.must(e.store.AddFamily(t.Context(), family))
		on := func(want bool, endpoints ...core.Endpoint) {
			t.Helper()
			for _, n := range endpoints {
				if now, err := e.store.Endpoint(t.Context(), n.ID); err != nil || (now.DisabledAt == 0) != want {
					t.Errorf("endpoint of %q: %+v, %v", now.CreatedBy, now, err)
				}
			}
		}
		e.shows("/account", "Also disable the API clients and webhooks you created or changed: Shop, "+own.URL, its.URL)
		e.shows(e.path("settings", "endpoints"), "Created by "+shop.CreatedByName, "Created by Shop")
		e.sends("/account", url.Values{"action": {"everywhere"}})
		if e.clientNamed("Shop").DisabledAt != 0 {
			t.Error("nobody asked for it to be disabled")
		}
		on(true, own, its, other)
		e.login()
		e.sends("/account", url.Values{"action": {"everywhere"}, "disable_clients": {"1"}})
		if e.clientNamed("Shop").DisabledAt == 0 {
			t.Error("logout everywhere left the client active")
		}
		on(false, own, its)
		on(true, other)
		e.login()
		e.shows(e.path("settings", "clients"), "disabled", "Enable")
		e.sends(e.path("settings", "clients", shop.ID, "switch"), url.Values{"disabled": {"0"}})
		if e.clientNamed("Shop").DisabledAt != 0 {
			t.Error("it is still disabled")
		}
		if state, err := e.store.TokenState(t.Context(), family.ID, core.At(time.Now())); err != nil || state.Live {
			t.Errorf("a token of before it was disabled: live %t, %v", state.Live, err)
		}
		status, page := e.page("POST", "/account", url.Values{
			"action": {"password"}, "password": {"wrong"}, "new_password": {"another password"}, "disable_clients": {"1"},
		})
		if e.clientNamed("Shop").DisabledAt != 0 {
			t.Errorf("a wrong password disabled the client: %d %s", status, textOf(page))
		}
	})
}

// The response to an operator's request lists the clients that stay enabled. On request, the clients that the tenant's
// administrator can disable are disabled.
func TestOperatorsEndClientsOfUsers(t *testing.T) {
	e := newEnv(t)
	for _, s := range []string{"tenant acme", "tenant beta", "user op operator", "account max name=max email=max@acme.example verified"} {
		e.step(s)
	}
	max := e.value("max")
	var ids, endpoints []string
	for _, tenant := range []string{"acme", "beta"} {
		e.must(e.store.GrantRole(t.Context(), max, core.Role{Role: core.RoleTenantAdmin, TenantID: e.value(tenant)}, false,
			1))
		c, _, err := core.NewClient(core.ClientInput{Name: &tenant, TenantID: new(e.value(tenant))}, true,
			core.At(time.Now()))
		e.must(err)
		e.must(e.store.AddClient(t.Context(), c, core.UserActor(max)))
		ids = append(ids, c.ID)
		n := core.Endpoint{ID: core.NewID(), TenantID: e.value(tenant), URL: "https://crm.test/", CreatedAt: 1}
		e.must(e.store.AddEndpoint(t.Context(), n, make([]byte, 32), "client:"+c.ID))
		endpoints = append(endpoints, n.ID)
	}
	ask := func(method, path, body string) string {
		t.Helper()
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+e.value("op"))
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		w := httptest.NewRecorder()
		e.handler.ServeHTTP(w, r)
		if w.Code != 200 {
			t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		return w.Body.String()
	}
	active := func(want ...bool) {
		t.Helper()
		for i, id := range ids {
			if c, err := e.store.Client(t.Context(), id); err != nil || (c.DisabledAt == 0) != want[i] {
				t.Errorf("client %d: disabled at %d, %v", i, c.DisabledAt, err)
			}
			if n, err := e.store.Endpoint(t.Context(), endpoints[i]); err != nil || (n.DisabledAt == 0) != want[i] {
				t.Errorf("endpoint %d: disabled at %d, %v", i, n.DisabledAt, err)
			}
		}
	}
	named := func(got, list string, ids ...string) {
		t.Helper()
		_, rest, _ := strings.Cut(got, `"`+list+`":[`)
		rest, _, _ = strings.Cut(rest, "]")
		for _, id := range ids {
			if !strings.Contains(rest, id) {
				t.Errorf("%s doesn't name %s: %s", list, id, got)
			}
		}
	}
	got := ask("GET", "/api/admin/users/"+max+"/sessions", "")
	named(got, "created_clients", ids...)
	named(got, "created_endpoints", endpoints...)
	got = ask("POST", "/api/admin/users/"+max+"/logout-everywhere", "")
	named(got, "active_clients", ids...)
	named(got, "active_endpoints", endpoints...)
	active(true, true)
	got = ask("DELETE", "/api/admin/team/"+max+"?tenant_id="+e.value("acme")+"&disable_clients=true", "")
	named(got, "disabled_clients", ids[0])
	named(got, "disabled_endpoints", endpoints[0])
	if strings.Contains(got, ids[1]) || strings.Contains(got, endpoints[1]) {
		t.Error("the client of another tenant is named", got)
	}
	active(false, true)
	got = ask("DELETE", "/api/admin/users/"+max+"?disable_clients=true", "")
	named(got, "disabled_clients", ids[1])
	named(got, "disabled_endpoints", endpoints[1])
	active(false, false)
	if _, err := e.store.User(t.Context(), max); core.KindOf(err) != core.NotFound {
		t.Error(err)
	}
	if all, err := e.store.KeptBy(t.Context(), max); err != nil || len(all.Names()) != 0 {
		t.Error(all, err)
	}
}

// A user who has set a secret or URL of someone else's client or webhook endpoint becomes its keeper. It is then listed
// and disabled like the user's own.
func TestWhatWasChangedEndsWithTheSessionsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		other := func(name string) core.Client {
			c, _, err := core.NewClient(core.ClientInput{
				Name: &name, TenantID: &e.tenant.ID, ClientType: new(core.ClientConfidential), Scopes: &[]string{core.ScopeSend},
			}, true, e.seed.Time())
			e.must(err)
			e.must(e.store.AddClient(t.Context(), c, "user:tom"))
			return c
		}
		shop, till := other("Shop"), other("Till")
		crm, mine := e.endpointBy("user:tom"), e.endpointBy("user:tom")
		_, err := e.store.UpdateClient(t.Context(), till.ID, core.UserActor(e.ann.ID), func(c *core.Client) error {
			_, err := c.Change(core.ClientInput{Name: new("Counter")}, false, e.seed.Time())
			return err
		})
		e.must(err)
		if status, page := e.page("POST", e.path("settings", "clients", shop.ID)+"/rotate",
			url.Values{"_": {"1"}}); status >= 400 {
			t.Fatalf("%d: %s", status, textOf(page))
		}
		_, err = e.store.UpdateEndpoint(t.Context(), mine.ID, tenants.EndpointChange{
			EndpointInput: core.EndpointInput{URL: new("https://ann.test/")},
		}, core.UserActor(e.ann.ID), e.seed.Time())
		e.must(err)
		label := wordsOfPages()["en"].DisableClients
		want := page.FillIn(label, "clients", "Shop, https://ann.test/")
		e.shows("/account", want)
		bob := e.seed.NewUser("bob@user.example", "", func(u *core.User) {
			u.Roles = []core.Role{{Role: core.RoleTenantAdmin, TenantID: e.tenant.ID}}
		})
		_, err = e.store.UpdateClient(t.Context(), till.ID, core.UserActor(bob.ID), func(c *core.Client) error {
			_, err := c.Change(core.ClientInput{RedirectURIs: &[]string{"https://bob.test/"}}, false, e.seed.Time())
			return err
		})
		e.must(err)
		e.shows(e.path("settings", "team"), "webhooks this person created or changed: Counter")
		e.ask("POST", "/account", url.Values{"action": {"everywhere"}, "disable_clients": {"1"}})
		for name, disabled := range map[string]bool{"Shop": true, "Counter": false} {
			if c := e.clientNamed(name); c.DisabledAt != 0 != disabled {
				t.Errorf("%s: %+v", name, c)
			}
		}
		for id, disabled := range map[string]bool{crm.ID: false, mine.ID: true} {
			n, err := e.store.Endpoint(t.Context(), id)
			e.must(err)
			if n.DisabledAt != 0 != disabled {
				t.Errorf("%+v", n)
			}
		}
	})
}
