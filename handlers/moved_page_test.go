package handlers

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/handlers/members"
)

// Links in emails that another tool sent lead to a page that emails a link to unsubscribe. The page never reveals
// whether an address is known.
func TestEmailsOfOtherTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		const host = "letters.acme.example"
		e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{PublicURL: new("https://" + host)})
		e.list = e.seed.NewList() // the link leads to all lists
		ask := func(path string, form url.Values) (int, string) {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			if form != nil {
				r = httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			}
			r.Host = host
			w := httptest.NewRecorder()
			e.handler.ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		status, page := ask("/moved/substack", nil)
		if status != http.StatusOK || !strings.Contains(page, "Substack") ||
			!strings.Contains(page, `action="/preferences"`) {
			t.Fatalf("%d %s", status, page)
		}
		_, after, _ := strings.Cut(page, `name="list" value="`)
		list, _, _ := strings.Cut(after, `"`)
		var answers [2]string
		for k, email := range []string{"grace@reader.example", "stranger@reader.example"} {
			status, answer := ask("/preferences", url.Values{"list": {list}, "email": {email}})
			if status != http.StatusOK {
				t.Errorf("%s: %d %s", email, status, answer)
			}
			answers[k] = strings.ReplaceAll(answer, email, "")
		}
		if answers[0] != answers[1] {
			t.Errorf("known: %s\nunknown: %s", answers[0], answers[1])
		}
		e.counts("SELECT count(*) FROM mail WHERE kind = 'preferences' AND state = 0 AND "+
			"email_key = 'grace@reader.example'", 1)
		e.counts("SELECT count(*) FROM mail WHERE kind = 'preferences' AND state = 0", 1)
		status, page = ask("/moved/substack?list="+e.list.ID, nil)
		if status != http.StatusOK || !strings.Contains(page, e.list.ID) {
			t.Errorf("a named list: %d %s", status, page)
		}
		for _, path := range []string{"/moved/", "/moved/other", "/moved/substack/x", "/moved/ghost?list=x"} {
			if status, _ := ask(path, nil); status != http.StatusNotFound {
				t.Errorf("%s: %d", path, status)
			}
		}
	})
}

// If another service has the lists, links in old emails lead there, like those to the preference page.
func TestEmailsOfOtherToolsAtAnotherService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		h, err := New(Options{
			Store: e.store, PublicURL: "https://send.example.org",
			Newsletter: members.Options{MemberURL: "https://members.example.org"},
		})
		e.must(err)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/moved/ghost?list="+e.list.ID, nil))
		want := "https://members.example.org/preferences?list=" + e.list.ID
		if to := w.Header().Get("Location"); w.Code != http.StatusFound || to != want {
			t.Errorf("%d to %s", w.Code, to)
		}
	})
}
