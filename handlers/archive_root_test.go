package handlers

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

// at requests a path of a host and returns the status, the target of a redirect and the body.
func (e *env) at(method, host, path string) (status int, to, body string) {
	r := httptest.NewRequest(method, path, nil)
	r.Host = host
	if path == "/" {
		r.Header.Set("Accept", browserAccept) // the page of the lists is only for browsers
	}
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, r)
	return w.Code, w.Header().Get("Location"), w.Body.String()
}

// ownHost is an archive with one issue, May, at the host of its tenant.
func ownHost(t *testing.T, host string) *env {
	e := archived(t)
	e.step("sent-campaign may list=weekly subject=May source=<p>Beans</p>")
	storetest.Seed(t, e.store).ChangeTenant(e.names["acme"], core.TenantInput{PublicURL: new("https://" + host)})
	return e
}

// The only archive at a tenant's own host is its start page. All links lead there, and addresses below the list stay.
func TestArchivesAtTheRoot(t *testing.T) {
	const host = "letters.acme.example"
	e := ownHost(t, host)
	e.step("sent-campaign taken list=weekly subject=Login at=2026-05-05")
	shows := func(path, canonical string, texts ...string) {
		t.Helper()
		status, _, body := e.at("GET", host, path)
		link := `<link rel="canonical" href="https://` + host + canonical + `">`
		if status != http.StatusOK || !strings.Contains(body, link) {
			t.Errorf("%s: %d, or another canonical link\n%s", path, status, body)
		}
		for _, text := range append(texts, `class="brand" href="/"`, `href="https://`+host+`/feed.xml"`) {
			if !strings.Contains(body, text) {
				t.Errorf("%s: no %s in\n%s", path, text, body)
			}
		}
		if head, _, _ := e.at("HEAD", host, path); head != http.StatusOK {
			t.Errorf("HEAD %s: %d", path, head)
		}
	}
	shows("/", "/", `<a href="/may">May</a>`, `<a href="/a/weekly/login">Login</a>`, `action="/" role="search"`,
		`"url":"https://letters.acme.example/may"`, page.AllWords()["en"].HomeManage)
	shows("/a/weekly/", "/", `<a href="/may">May</a>`)
	shows("/may", "/may", "Beans", `"isPartOf":{"@type":"Blog","name":"weekly","url":"https://letters.acme.example/"}`)
	shows("/a/weekly/may", "/may", "Beans")
	shows("/a/weekly/login", "/a/weekly/login")
	if status, _, body := e.at("GET", host, "/?q=beans"); status != http.StatusOK ||
		!strings.Contains(body, "<mark>Beans") {
		t.Errorf("a search: %d\n%s", status, body)
	}
	status, _, feed := e.at("GET", host, "/feed.xml")
	if status != http.StatusOK || !strings.Contains(feed, `href="https://letters.acme.example/may"`) ||
		!strings.Contains(feed, `rel="self" type="application/atom+xml" href="https://letters.acme.example/feed.xml"`) {
		t.Errorf("the feed: %d\n%s", status, feed)
	}
	if status, _, _ := e.at("GET", host, "/may/mail"); status != http.StatusOK {
		t.Errorf("the email: %d", status)
	}
	if status, _, body := e.at("GET", host, "/login"); strings.Contains(body, "/a/weekly/login") {
		t.Errorf("an issue has the place of the sign-in page: %d", status)
	}
	seed := storetest.Seed(t, e.store)
	seed.NewImportedIssue(e.value("weekly"), "account", "<p>A</p>")
	seed.NewImportedIssue(e.value("weekly"), "old", `<p><a href="/account/">A</a> <a href="/old">O</a></p>`)
	e.must(e.store.Update(t.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(`UPDATE imported_issue SET tenant_id = ?,
			old_path = '/' || (SELECT slug FROM issue WHERE no = issue_no)`, e.names["acme"])
		return err
	}))
	shows("/old", "/old", `<a href="https://letters.acme.example/a/weekly/account"`,
		`<a href="https://letters.acme.example/old"`)
	for _, path := range []string{"/june", "/may/", "/may/mail/x", "/MAY", "/mail", "//mail", "/%6Day"} {
		if status, _, _ := e.at("GET", host, path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	for _, other := range []string{"news.test", "other.example"} {
		if status, _, _ := e.at("GET", other, "/may"); status != http.StatusNotFound {
			t.Errorf("%s: %d", other, status)
		}
	}
	if status, _, _ := e.at("POST", host, "/may"); status != http.StatusNotFound {
		t.Errorf("POST: %d", status)
	}
}

// A list without an archive is on the start page. If a second one gets an archive, the start page lists both, and links
// to the root lead to the issues. Without an archive it is the page of the lists again.
func TestArchivesMoveFromTheRoot(t *testing.T) {
	const host = "letters.acme.example"
	e := ownHost(t, host)
	e.step("list alerts tenant=acme")
	if _, _, body := e.at("GET", host, "/"); !strings.Contains(body, `<a href="/l/`+e.names["alerts"]+`">`) {
		t.Errorf("the other list is missing in\n%s", body)
	}
	e.change("alerts", core.ListInput{Archive: new(true), Slug: new("alerts")})
	if status, _, body := e.at("GET", host, "/"); !strings.Contains(body, `href="/a/weekly/"`) ||
		!strings.Contains(body, `href="/a/alerts/"`) {
		t.Errorf("two archives: %d\n%s", status, body)
	}
	for path, want := range map[string]string{
		"/may": "/a/weekly/may", "/may/": "/a/weekly/may", "/feed.xml": "/a/weekly/feed.xml",
	} {
		status, to, _ := e.at("GET", host, path)
		if status != http.StatusMovedPermanently || to != "https://"+host+want {
			t.Errorf("%s: %d %s", path, status, to)
		}
	}
	if _, _, body := e.at("GET", host, "/a/weekly/may"); !strings.Contains(body,
		`<link rel="canonical" href="https://letters.acme.example/a/weekly/may">`) {
		t.Errorf("another canonical link in\n%s", body)
	}
	e.change("alerts", core.ListInput{Archive: new(false)})
	e.change("weekly", core.ListInput{Archive: new(false)})
	for _, path := range []string{"/may", "/feed.xml"} {
		if status, _, _ := e.at("GET", host, path); status != http.StatusNotFound {
			t.Errorf("%s without an archive: %d", path, status)
		}
	}
}

// The server's own host starts with the sign-in page, so archives stay below their list there.
func TestTheOwnHostHasNoArchiveAtTheRoot(t *testing.T) {
	e := ownHost(t, "news.test")
	if status, to, _ := e.at("GET", "news.test", "/may"); status != http.StatusNotFound {
		t.Errorf("%d %s", status, to)
	}
	if _, _, body := e.at("GET", "news.test", "/a/weekly/"); !strings.Contains(body, `<a href="/a/weekly/may">`) {
		t.Errorf("%s", body)
	}
}
