package handlers

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/store/storetest"
)

// tenantConsole is the console of a tenant with a list, in which ann is signed in.
type tenantConsole struct {
	*pageEnv
	seed   *storetest.Seeder
	tenant core.Tenant
	list   core.List
	ann    core.User
}

func newTenantConsole(t *testing.T, role string) *tenantConsole {
	t.Helper()
	e := &tenantConsole{pageEnv: pageEnvLater(t)}
	e.seed = storetest.Seed(t, e.store)
	e.tenant = e.seed.NewTenant()
	e.list = e.seed.NewList()
	e.verifyAnn()
	ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
	e.must(err)
	e.ann = ann
	e.must(e.store.GrantRole(t.Context(), ann.ID, core.Role{Role: role, TenantID: e.tenant.ID}, false, e.seed.Time()))
	e.login()
	return e
}

// path returns a path in the tenant's console.
func (e *tenantConsole) path(parts ...string) string {
	return "/console/" + e.tenant.ID + "/" + strings.Join(parts, "/")
}

// shows requests a page and checks that it contains texts.
func (e *tenantConsole) shows(path string, texts ...string) string {
	e.Helper()
	status, page := e.page("GET", path, nil)
	if status != http.StatusOK {
		e.Fatalf("%s: %d: %s", path, status, textOf(page))
	}
	for _, want := range texts {
		if !strings.Contains(html.UnescapeString(page), want) {
			e.Errorf("%s: no %q in %s", path, want, textOf(page))
		}
	}
	return page
}

// sends posts a form and returns where the response redirects. If it doesn't redirect, the test fails.
func (e *tenantConsole) sends(path string, form url.Values) string {
	e.Helper()
	res := e.ask("POST", path, form)
	if res.StatusCode != http.StatusSeeOther {
		b, _ := io.ReadAll(res.Body)
		e.Fatalf("%s: %d: %s", path, res.StatusCode, textOf(string(b)))
	}
	return strings.TrimPrefix(res.Header.Get("Location"), "https://news.example.org")
}

// refuses posts a form that must be shown again, and checks that the page contains texts.
func (e *tenantConsole) refuses(path string, form url.Values, want int, texts ...string) {
	e.Helper()
	status, page := e.page("POST", path, form)
	if status != want {
		e.Errorf("%s: %d, not %d: %s", path, status, want, textOf(page))
	}
	for _, text := range texts {
		if !strings.Contains(html.UnescapeString(page), text) {
			e.Errorf("%s: no %q in %s", path, text, page)
		}
	}
}

// record returns the current list.
func (e *tenantConsole) record() core.List {
	e.Helper()
	l, err := e.store.List(e.Context(), e.list.ID)
	e.must(err)
	return l
}

// TestConsoleShowsEachFieldOfAList checks that the settings of a list have an input for each of its texts and switches.
func TestConsoleShowsEachFieldOfAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		_, page := e.page("GET", e.path("lists", e.list.ID, "settings"), nil)
		for _, f := range reflect.VisibleFields(reflect.TypeFor[core.ListInput]()) {
			name := f.Tag.Get("json")
			switch name {
			case "id", "tenant_id":
				continue
			case "fields", "mail_texts": // have their own pages
				continue
			case "status":
				name = "active"
			}
			if !strings.Contains(page, ` name="`+name+`"`) {
				t.Errorf("the settings of a list have no input for %s", name)
			}
		}
	})
}

// An administrator creates a list, and changes each of its settings.
func TestConsoleLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		e.seed.Active(e.list.ID, "a@example.org")
		e.shows(e.path("lists"), e.list.Name, `data-label="subscribers">1<`, "New list")
		e.refuses(e.path("new-list"), url.Values{"name": {" "}, "description": {"Kept <here>"}}, http.StatusBadRequest,
			`aria-invalid="true"`, "Kept <here>")
		to := e.sends(e.path("new-list"), url.Values{"name": {"Garden"}, "description": {"Roses"}, "language": {"de"}})
		e.shows(to, "Garden", "Created", "0 subscribers")

		item := e.path("lists", e.list.ID)
		e.shows(item, "1 subscriber", "Your growth chart appears here tomorrow", "Spam complaints")
		e.shows(item+"/form", "https://news.example.org/l/"+e.list.ID, "<form action=",
			"Off. Only subscribers can read your campaigns")
		settings := url.Values{
			"name": {"Weekly"}, "description": {"New"}, "language": {"fr"}, "consent_text": {"Yes."},
			"confirm_token":        {"receipt"},
			"require_mailed_proof": {"1"}, "subscribe_redirect_url": {"a.example/1"},
			"confirm_redirect_url": {"https://a.example/2"}, "unsubscribe_redirect_url": {"https://a.example/3"},
			"archive": {"1"}, "slug": {"weekly"}, "active": {"1"},
		}
		e.sends(item+"/settings", settings)
		l := e.record()
		l.CreatedAt, l.UpdatedAt = 0, 0
		want := core.List{
			ID: e.list.ID, TenantID: e.tenant.ID, Name: "Weekly", Status: core.ListActive, ConfirmToken: "receipt",
			RequireMailedProof: true, Language: "fr", Description: "New", ConsentText: "Yes.",
			SubscribeRedirectURL: "https://a.example/1", ConfirmRedirectURL: "https://a.example/2",
			UnsubscribeRedirectURL: "https://a.example/3", Archive: true, Slug: "weekly",
		}
		if got, want := fmt.Sprintf("%+v", l), fmt.Sprintf("%+v", want); got != want {
			t.Errorf("%s\nnot %s", got, want)
		}
		e.shows(item+"/form", "https://news.example.org/a/weekly/feed.xml")
		settings.Set("confirm_redirect_url", "http://a.example/")
		settings.Set("name", "Other")
		e.refuses(item+"/settings", settings, http.StatusBadRequest, `value="Other"`, `value="http://a.example/" maxlength`,
			`aria-invalid="true"`)
		settings.Set("confirm_redirect_url", "")
		settings.Del("active")
		e.sends(item+"/settings", settings)
		e.shows(item, "This list is inactive. It doesn't accept signups or receive campaigns", "Inactive")
	})
}

// Fields are added, changed and removed. A new field gets a unique name.
func TestConsoleListQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		page := e.path("lists", e.list.ID, "questions")
		e.sends(page, url.Values{"q1.label": {"Größe & Farbe"}, "q1.type": {"choice"}, "q1.options": {"S\r\n\r\nM \r\n"}})
		e.sends(page, url.Values{
			"q1.name": {"groesse_farbe"}, "q1.label": {"Size"}, "q1.type": {"choice"}, "q1.options": {"S"}, "q1.required": {"1"},
			"q2.label": {"Größe  Farbe!"}, "q2.type": {"text"}, "q2.set_by": {"team"}, "q2.required": {"1"},
		})
		if got := e.record().Fields.Column(); got != `[{"name":"groesse_farbe","label":"Size","type":"choice","required":true,"set_by":"subscriber","options":["S"]},`+
			`{"name":"groesse_farbe_2","label":"Größe  Farbe!","type":"text","required":false,"set_by":"team"}]` {
			t.Errorf("%s", got)
		}
		e.shows(page, "groesse_farbe_2", `value="Size"`, `<option value="team" selected>Only your team</option>`)
		if form := e.shows(e.path("lists", e.list.ID, "form"), "Size"); strings.Contains(form, "groesse_farbe_2") {
			t.Errorf("the form asks for a field of the team: %s", form)
		}
		e.refuses(page, url.Values{
			"q1.name": {"groesse_farbe"}, "q1.label": {"Size"}, "q1.type": {"choice"}, "q1.remove": {"1"},
			"q2.label": {"Empty"}, "q2.type": {"choice"},
		}, http.StatusBadRequest, `id="f-q2-options" name="q2.options" rows="3" aria-invalid="true"`)
		e.sends(page, url.Values{"q1.name": {"groesse_farbe"}, "q1.label": {"Size"}, "q1.remove": {"1"}})
		if got := e.record().Fields; len(got) != 0 {
			t.Errorf("%v", got)
		}
	})
}

// The page of a list's fields offers to add fields that subscribers have and the list doesn't.
func TestConsoleListFieldsOfImports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		e.seed.Active(e.list.ID, "ann@reader.example")
		_, err := e.store.SetPreferences(t.Context(), e.list.ID, "ann@reader.example",
			`{"_tracking":true,"bought":"Fern","city":"Ulm","shoe size":37}`, e.seed.Time())
		e.must(err)
		page := e.path("lists", e.list.ID, "questions")
		e.sends(page, url.Values{"q1.name": {"city"}, "q1.label": {"City"}, "q1.type": {"text"}})
		shown := e.shows(page, "Fields you can add", `href="?add=bought#field-bought"`)
		if strings.Count(shown, "?add=") != 1 || strings.Contains(shown, `value="bought"`) {
			t.Errorf("fields to add: %s", shown)
		}
		e.shows(page+"?add=bought", `name="q1.name" value="city"`, `name="q2.name" value="bought"`,
			`<option value="team" selected>Only your team</option>`)
		if other := e.shows(page + "?add=other"); strings.Contains(other, `value="other"`) {
			t.Errorf("a field that no one has: %s", other)
		}
		e.sends(page, url.Values{
			"q1.name": {"city"}, "q1.label": {"City"}, "q1.type": {"text"},
			"q2.name": {"bought"}, "q2.label": {"Bought"}, "q2.type": {"text"}, "q2.set_by": {"team"},
		})
		if shown := e.shows(page); strings.Contains(shown, "?add=") {
			t.Errorf("a field that the list has: %s", shown)
		}
	})
}

// The texts of automatic emails are changed, and reset by leaving them blank.
func TestConsoleListMails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		page := e.path("lists", e.list.ID, "mails")
		e.sends(page, url.Values{"mail_texts.confirm.subject": {"Really?"}, "mail_texts.confirm.text": {"Dear {{email}}"}})
		l := e.record()
		if got := l.MailTexts.Of(core.MailConfirm); got != (core.MailText{Subject: "Really?", Text: "Dear {{email}}"}) {
			t.Errorf("%+v", got)
		}
		e.shows(page, `value="Really?"`)
		e.refuses(page, url.Values{"mail_texts.confirm.text": {"Dear {{name}}"}}, http.StatusBadRequest,
			`aria-invalid="true"`)
		e.sends(page, url.Values{"mail_texts.confirm.text": {""}})
		if got := e.record().MailTexts; got != (core.MailTexts{}) {
			t.Errorf("%+v", got)
		}
	})
}

// The chart shows the days that the API has counted, and the page shows the reasons why people unsubscribed.
func TestConsoleListGrowth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		e.seed.Active(e.list.ID, "a@example.org")
		time.Sleep(24 * time.Hour)
		e.login()
		e.seed = e.seed.At(core.At(time.Now()))
		e.seed.Active(e.list.ID, "b@example.org")
		page := e.shows(e.path("lists", e.list.ID)+"?days=90", "2 subscribers, +1 in 90 days", `<svg class="chart"`)
		if !strings.Contains(page, "people?list="+e.list.ID+"&amp;status=pending") {
			t.Error("no link leads to those who have not confirmed")
		}
		if !strings.Contains(page, `aria-current="true">90 days`) {
			t.Error("90 days are not marked")
		}
		e.shows("/console/"+e.tenant.ID, `id="growth"`, `<svg class="chart"`, "<td>1</td><td>0</td>")
		time.Sleep(24 * time.Hour)
		e.login()
		e.seed = e.seed.At(core.At(time.Now()))
		e.seed.Leave(e.list.ID, "a@example.org")
		e.shows("/console/"+e.tenant.ID, "<td>1</td><td>0</td>", "<td>0</td><td>1</td>")
		e.shows(e.path("lists", e.list.ID, "left"), "1 person unsubscribed")
	})
}

// A separate page deletes a list after its name is entered.
func TestConsoleListIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		page := e.path("lists", e.list.ID, "delete")
		e.refuses(page, url.Values{"name": {"another"}}, http.StatusBadRequest,
			"The name doesn't match. Type it exactly as shown.")
		e.record()
		if to := e.sends(page, url.Values{"name": {e.list.Name}}); to != e.path("lists")+"?done=deleted" {
			t.Errorf("leads to %s", to)
		}
		if status, _ := e.page("GET", e.path("lists", e.list.ID), nil); status != http.StatusNotFound {
			t.Errorf("afterwards %d", status)
		}
	})
}

// A viewer sees numbers but no buttons. A list of another tenant is not found.
func TestConsoleListsOfViewers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleViewer)
		item := e.path("lists", e.list.ID)
		for _, path := range []string{e.path("lists"), item, item + "/left", item + "/form", item + "/questions", item + "/mails"} {
			page := e.shows(path)
			for _, button := range []string{"New list", item + "/settings", ">Save<"} {
				if strings.Contains(page, button) {
					t.Errorf("%s has %q", path, button)
				}
			}
		}
		for _, path := range []string{e.path("new-list"), item + "/settings", item + "/delete", item + "/questions"} {
			if status, _ := e.page("POST", path, url.Values{"name": {"x"}}); status != http.StatusForbidden {
				t.Errorf("POST %s: %d", path, status)
			}
		}
		tenant := e.seed.NewTenant()
		other := e.seed.NewList(func(in *core.ListInput) { in.TenantID = &tenant.ID })
		e.must(e.store.GrantRole(t.Context(), e.ann.ID, core.Role{Role: core.RoleViewer, TenantID: other.TenantID}, false,
			e.seed.Time()))
		if status, _ := e.page("GET", e.path("lists", other.ID), nil); status != http.StatusNotFound {
			t.Errorf("a list of another tenant: %d", status)
		}
	})
}
