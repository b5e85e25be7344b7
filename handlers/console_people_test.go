package handlers

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/handlers/console"
	"newsletterd/store/storetest"
)

// peopleEnv is a tenant with a list of three people, and ann, who has a role there and is signed in.
type peopleEnv struct {
	*pageEnv
	seed   *storetest.Seeder
	tenant core.Tenant
	list   core.List
}

func newPeopleEnv(t *testing.T, role string) *peopleEnv {
	t.Helper()
	e := &peopleEnv{pageEnv: pageEnvLater(t)}
	e.seed = storetest.Seed(t, e.store)
	e.tenant = e.seed.NewTenant()
	e.list = e.seed.NewList(func(in *core.ListInput) {
		in.Name = new("Weekly")
		in.Fields = &[]core.Field{
			{Name: "city", Label: "City", Type: core.FieldText},
			{Name: "tea", Label: "Likes tea", Type: core.FieldBoolean},
		}
	})
	e.verifyAnn()
	ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
	e.must(err)
	e.must(e.store.GrantRole(t.Context(), ann.ID, core.Role{Role: role, TenantID: e.tenant.ID}, false, e.seed.Time()))
	e.seed.Active(e.list.ID, "grace@reader.example")
	e.seed.Active(e.list.ID, "joan@reader.example")
	e.seed.Pending(e.list.ID, "wilma@reader.example")
	e.seed.Deliver()
	e.login()
	return e
}

// at returns a path of the console of the tenant.
func (e *peopleEnv) at(path string) string { return console.Path + "/" + e.tenant.ID + path }

// shows asks for a page, and checks its status and that it has texts; those that begin with "-" it must not have.
func (e *peopleEnv) shows(path string, status int, texts ...string) string {
	e.Helper()
	got, body := e.page("GET", e.at(path), nil)
	e.holds("GET "+path, got, body, status, texts)
	return body
}

// sends posts a form, and returns where the answer leads to.
func (e *peopleEnv) sends(path string, status int, form url.Values, texts ...string) (to string) {
	e.Helper()
	res := e.ask("POST", e.at(path), form)
	body, err := io.ReadAll(res.Body)
	e.must(err)
	e.holds("POST "+path, res.StatusCode, string(body), status, texts)
	return strings.TrimPrefix(res.Header.Get("Location"), "https://news.example.org"+e.at(""))
}

func (e *peopleEnv) holds(what string, got int, body string, status int, texts []string) {
	e.Helper()
	if got != status {
		e.Errorf("%s: %d, not %d: %s", what, got, status, textOf(body))
	}
	for _, text := range texts {
		if bare, not := strings.CutPrefix(text, "-"); not == strings.Contains(body, bare) {
			e.Errorf("%s: %q in %s", what, text, textOf(body))
		}
	}
}

// found returns the subscription of an address.
func (e *peopleEnv) found(email core.Email) core.Subscription {
	e.Helper()
	s, err := e.store.Subscription(e.Context(), e.list.ID, email)
	e.must(err)
	return s
}

func TestConsolePeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		e.shows("/people", http.StatusOK, "grace@reader.example", "wilma@reader.example", "2 readers on one list, one to be",
			"Add a person", "Import", `aria-current="page"`)
		e.shows("/people?q=GRA", http.StatusOK, "grace@reader.example", "-joan@reader.example")
		e.shows("/people?status=pending&list="+e.list.ID, http.StatusOK, "wilma@reader.example", "-joan@reader.example")
		e.shows("/people?q=nobody", http.StatusOK, "There is no one like that.")
		e.shows("/people?list=x", http.StatusBadRequest)
		for k := range 40 {
			e.seed.Active(e.list.ID, storetest.Reader(k))
		}
		first := e.shows("/people", http.StatusOK, "Next page", "-First page")
		_, rest, _ := strings.Cut(first, `cursor=`)
		cursor, _, _ := strings.Cut(rest, `"`)
		second := e.shows("/people?cursor="+strings.ReplaceAll(cursor, "&amp;", "&"), http.StatusOK, "First page", "-Next page")
		if n := strings.Count(first, `class="row"`) + strings.Count(second, `class="row"`); n != 43 {
			t.Errorf("%d people on two pages", n)
		}
	})
}

// One who may not read addresses sees them masked, and can't search by them.
func TestConsolePeopleAreMasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleEditor)
		body := e.shows("/people?q=gra", http.StatusOK, "-grace@reader.example", "-joan@reader.example", "-Add a person",
			"-Import", "-begins with", "shown in part")
		if n := strings.Count(body, `class="row"`); n != 3 {
			t.Errorf("a search by an address that is masked finds %d", n)
		}
		if strings.Contains(body, e.found("grace@reader.example").ID) {
			t.Error("the true id of a subscription")
		}
		e.shows("/new-person", http.StatusForbidden)
		e.sends("/new-person", http.StatusForbidden, url.Values{"list": {e.list.ID}, "email": {"new@reader.example"}})
	})
}

func TestConsoleAddsAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		e.shows("/new-person", http.StatusOK, "Weekly", "City", "Likes tea", "Not yet")
		form := url.Values{
			"list": {e.list.ID}, "email": {"new@reader.example"}, "agreed": {"no"}, "source": {"at the fair"},
			"field.city": {"Bonn"}, "field.tea": {"true"},
		}
		to := e.sends("/new-person", http.StatusSeeOther, form)
		s := e.found("new@reader.example")
		if s.Status != core.SubscriptionPending || to != "/people/"+s.ID+"?done=asked" {
			t.Errorf("%s, leads to %s", s.Status, to)
		}
		var said map[string]any
		if err := json.Unmarshal([]byte(s.Preferences), &said); err != nil || said["city"] != "Bonn" || said["tea"] != true {
			t.Errorf("%s, %v", s.Preferences, err)
		}
		if to := e.sends("/new-person", http.StatusSeeOther, form); !strings.HasSuffix(to, "done=known") {
			t.Errorf("again: %s", to)
		}
		form.Set("email", "sure@reader.example")
		form.Set("agreed", "yes")
		to = e.sends("/new-person", http.StatusSeeOther, form)
		if s = e.found("sure@reader.example"); s.Status != core.SubscriptionActive || !strings.HasSuffix(to, "done=added") {
			t.Errorf("%s, leads to %s", s.Status, to)
		}
		form.Set("email", "no address")
		e.sends("/new-person", http.StatusBadRequest, form, "no address", `aria-invalid="true"`, "Bonn", "at the fair")
		e.seed.Leave(e.list.ID, "joan@reader.example")
		form.Set("email", "joan@reader.example")
		e.sends("/new-person", http.StatusConflict, form, "only a subscription of its own brings it back")
		e.seed.NewList()
		e.shows("/new-person", http.StatusOK, "To which list?")
		e.shows("/new-person?list="+e.list.ID, http.StatusOK, "another one")
	})
}
