package handlers

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
)

// asks requests a path of a host as a crawler does, and returns the status and where it leads.
func (e *peopleEnv) asks(method, host, path string) (status int, to string) {
	r := httptest.NewRequest(method, path, nil)
	r.Host = host
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, r)
	return w.Code, w.Header().Get("Location")
}

// Old addresses of imported issues lead to the issues, at the host of their tenant. They don't replace existing pages.
// They stop working when the archive is turned off or the import is undone.
func TestOldAddressesLeadToIssues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		host := "letters.acme.example"
		e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{PublicURL: new("https://" + host)})
		archive := func(id, slug string, on bool) {
			_, err := e.store.UpdateList(t.Context(), id, "test", func(l *core.List) error {
				return l.Change(core.ListInput{Archive: new(on), Slug: new(slug)}, core.At(time.Now()))
			})
			e.must(err)
		}
		leads := func(path, to string) {
			t.Helper()
			want := http.StatusMovedPermanently
			if to == "" {
				want = http.StatusNotFound
			}
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				if status, got := e.asks(method, host, path); status != want || got != to {
					t.Errorf("%s %s: %d %q, want %q", method, path, status, got, to)
				}
			}
		}
		archive(e.list.ID, "weekly", true)
		leads("/p/engines", "")
		at := e.uploads(e.list.ID, "export.zip", blog(t, "<p>Steam</p>"))
		leads("/p/engines", "")
		e.sends(at+"/posts", http.StatusSeeOther, url.Values{"do": {"add"}})
		const engines = "https://letters.acme.example/engines"
		leads("/p/engines", engines)
		e.shows(at, http.StatusOK, `href="https://letters.acme.example/"`,
			`href="https://letters.acme.example/a/weekly/engines"`)
		leads("/p/engines/", engines)
		leads("/p/engines?utm_source=substack", engines)
		for _, path := range []string{
			"/p/paid", "/p/engines/comments", "/p/", "/engines/comments", "/archive/engines",
		} {
			leads(path, "")
		}
		if status, _ := e.asks(http.MethodPost, host, "/p/engines"); status == http.StatusMovedPermanently {
			t.Error("a form is redirected")
		}
		for _, other := range []string{"news.example.org", "other.example"} {
			if status, _ := e.asks(http.MethodGet, other, "/p/engines"); status != http.StatusNotFound {
				t.Errorf("%s: %d", other, status)
			}
		}

		// The list that imported a path first keeps it while its archive is on.
		second := e.seed.NewList()
		archive(second.ID, "second", true)
		again := e.uploads(second.ID, "export.zip", blog(t, "<p>Steam</p>"))
		e.sends(again+"/posts", http.StatusSeeOther, url.Values{"do": {"add"}})
		leads("/p/engines", "https://letters.acme.example/a/weekly/engines")
		archive(e.list.ID, "weekly", false)
		leads("/p/engines", engines)
		archive(e.list.ID, "weekly", true)
		e.sends(at+"/posts", http.StatusSeeOther, url.Values{"do": {"remove"}})
		leads("/p/engines", "https://letters.acme.example/a/second/engines")

		// A Ghost site has its posts at the root.
		site := e.uploads(e.list.ID, "site.json", `{"db":[{"data":{"posts":[`+
			`{"title":"May","slug":"may","html":"<p>A</p>","status":"published",`+
			`"published_at":"2024-05-01T10:00:00Z"},`+
			`{"title":"In","slug":"login","html":"<p>A</p>","status":"published",`+
			`"published_at":"2024-05-02T10:00:00Z"}]}}]}`)
		e.sends(site+"/posts", http.StatusSeeOther, url.Values{"do": {"add"}})
		leads("/may/", "https://letters.acme.example/a/weekly/may")
		if status, to := e.asks(http.MethodGet, host, "/login"); strings.Contains(to, "/a/weekly") {
			t.Errorf("/login: %d %s", status, to)
		}
	})
}
