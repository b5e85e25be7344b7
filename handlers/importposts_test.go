package handlers

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/store/imports"
	"newsletterd/store/storetest"
)

func init() {
	// imported-issue NAME list=LIST bytes=N
	steps["imported-issue"] = func(e *env, name string, args map[string]string) {
		size, err := strconv.Atoi(args["bytes"])
		e.must(err)
		storetest.Seed(e.t, e.store).NewImportedIssue(e.value(args["list"]), name, strings.Repeat("x", size))
	}
	// failed-picture NAME import=IMPORT no=N
	steps["failed-picture"] = func(e *env, _ string, args map[string]string) {
		no, err := strconv.ParseInt(args["no"], 10, 64)
		e.must(err)
		e.must(e.store.FailPicture(e.t.Context(), &imports.PictureTurn{ImportID: e.value(args["import"])}, no,
			core.PictureNotFound))
	}
}

// blog returns a Substack export with one person and four posts. engines is the text of the first post.
func blog(t *testing.T, engines string) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, file := range map[string]string{
		"email_list.ada.csv": "email,active_subscription,expiry,plan,email_disabled,created_at\n" +
			"bob@reader.example,false,,other,true,2023-01-02T03:04:05Z\n",
		"posts.csv": "post_id,post_date,is_published,type,audience,title,subtitle\n" +
			"1.engines,2024-05-01T10:00:00Z,true,newsletter,everyone,On engines,How they work\n" +
			"4.deep,2024-05-01T10:00:00Z,true,newsletter,everyone,Too deep,\n" +
			"2.paid,2024-05-02T10:00:00Z,true,newsletter,only_paid,Secrets,\n" +
			"3.draft,,false,newsletter,everyone,An idea,\n",
		"posts/1.engines.html": engines,
		"posts/2.paid.html":    "<p>Hidden</p>", "posts/3.draft.html": "<p>Idea</p>",
		"posts/4.deep.html": strings.Repeat("<div>", 600) + "Deep", // skipped
	} {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Posts of an export become issues in the archive, as clean HTML, with their dates. Drafts and posts for paid
// subscribers are left out unless they are requested, and an undo removes all issues.
func TestImportedPostsBecomeIssues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		_, err := e.store.UpdateList(t.Context(), e.list.ID, "test", func(l *core.List) error {
			return l.Change(core.ListInput{Archive: new(true), Slug: new("weekly")}, core.At(time.Now()))
		})
		e.must(err)
		ask := func(path string) (int, string) {
			w := httptest.NewRecorder()
			e.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			return w.Code, w.Body.String()
		}
		at := e.uploads(e.list.ID, "export.zip", blog(t,
			`<p onclick="x()">Wheels<script>x()</script><form><input></form></p>`))
		e.shows(at, http.StatusOK, "This is an export from Substack.", `value="Substack"`, "3 posts", "On engines",
			"For paid subscribers", "Draft", "Ready to import", "-in the archive.")
		if status, _ := ask("/a/weekly/engines"); status != http.StatusNotFound {
			t.Errorf("before the import: %d", status)
		}
		e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{Approval: new(core.ApprovalSecondPerson)})
		e.shows(at, http.StatusOK, "another team member has to import the posts")
		e.sends(at+"/posts", http.StatusForbidden, url.Values{"do": {"add"}})
		e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{Approval: new(core.ApprovalNone)})
		for range 2 { // the second time changes nothing
			e.sends(at+"/posts", http.StatusSeeOther, url.Values{"do": {"add"}})
		}
		again := e.uploads(e.list.ID, "again.zip", blog(t, "<p>Wheels</p>"))
		if to := e.sends(again+"/posts", http.StatusSeeOther, url.Values{"do": {"add"}}); to != again+"?done=no-posts" {
			t.Error(to)
		}
		e.sends(again+"/cancel", http.StatusSeeOther, url.Values{})
		e.shows(at, http.StatusOK, "1 post is in the archive.", `/a/weekly/engines"`, "-#archive")
		if status, list := ask("/a/weekly/"); status != http.StatusOK || !strings.Contains(list, "On engines") ||
			strings.Contains(list, "Secrets") || strings.Contains(list, "An idea") ||
			!strings.Contains(list, "1 May 2024") {
			t.Errorf("%d %s", status, list)
		}
		status, body := ask("/a/weekly/engines")
		if status != http.StatusOK || !strings.Contains(body, "<p>Wheels</p>") || strings.Contains(body, "x()") ||
			!strings.Contains(body, "1 May 2024") || strings.Contains(body, "<iframe") {
			t.Errorf("%d %s", status, body)
		}
		if status, _ := ask("/a/weekly/engines/mail"); status != http.StatusNotFound { // it was not an email
			t.Errorf("%d", status)
		}
		if status, found := ask("/a/weekly/?q=wheel"); status != http.StatusOK || !strings.Contains(found, "/engines") {
			t.Errorf("%d %s", status, found)
		}
		if status, feed := ask("/a/weekly/feed.xml"); status != http.StatusOK || !strings.Contains(feed, "Wheels") ||
			strings.Count(feed, "<entry>") != 1 {
			t.Errorf("%d %s", status, feed)
		}
		e.sends(at+"/posts", http.StatusSeeOther, url.Values{"do": {"add"}, "paid": {"on"}, "drafts": {"on"}})
		if _, list := ask("/a/weekly/"); !strings.Contains(list, "Secrets") || !strings.Contains(list, "An idea") {
			t.Error(list)
		}
		e.sends(at+"/posts", http.StatusSeeOther, url.Values{"do": {"remove"}})
		for _, path := range []string{"/a/weekly/", "/a/weekly/?q=wheel", "/a/weekly/feed.xml"} {
			if status, page := ask(path); status != http.StatusOK || strings.Contains(page, "engines") ||
				strings.Contains(page, "Secrets") {
				t.Errorf("%s: %d %s", path, status, page)
			}
		}
		e.counts("SELECT count(*) FROM issue_text", 0)
		e.counts("SELECT count(*) FROM issue_search WHERE issue_search MATCH 'wheels'", 0)
		e.counts("SELECT count(*) FROM imported_issue", 0)

		// The people in the same export are a separate import.
		form, _ := e.choices(at)
		form.Set("do", "run")
		e.sends(at, http.StatusSeeOther, form)
		e.runImports()
		if s := e.found("bob@reader.example"); s.Status != core.SubscriptionUnsubscribed {
			t.Errorf("bob is %s", s.Status)
		}
		e.shows(at+"/undo", http.StatusOK, "-stay in the archive")
		e.sends(at+"/posts", http.StatusSeeOther, url.Values{"do": {"add"}})
		e.shows(at+"/undo", http.StatusOK, "stay in the archive")
		// The posts are stored for a week after the end.
		now := core.At(time.Now().Add(8 * 24 * time.Hour))
		for more := true; more; {
			more, err = e.store.SweepImports(t.Context(), now)
			e.must(err)
		}
		e.counts("SELECT count(*) FROM import_post", 0)
	})
}

// counts checks a number in the database.
func (e *peopleEnv) counts(query string, want int64) {
	e.Helper()
	var n int64
	e.must(e.store.Get(e.Context(), &n, query))
	if n != want {
		e.Errorf("%s: %d, not %d", query, n, want)
	}
}

// The page of an import shows how many pictures are copied, and which could not be. Each imported issue can be removed.
func TestConsoleShowsPicturesOfPosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		const post = `<p>Wheels<img src="https://old.example/a.png"><img src="https://old.example/b.png"></p>`
		at := e.uploads(e.list.ID, "export.zip", blog(t, post))
		e.shows(at, http.StatusOK, "2 images", "After you import the posts", "-Retry images")
		e.sends(at+"/posts", http.StatusSeeOther, url.Values{"do": {"add"}})
		e.shows(at, http.StatusOK, "0 of 2 images", "-After you import the posts")
		id := at[strings.LastIndex(at, "/")+1:]
		e.must(e.store.FailPicture(t.Context(), &imports.PictureTurn{ImportID: id}, 1, core.PictureNotFound))
		e.must(e.store.FailPicture(t.Context(), &imports.PictureTurn{ImportID: id}, 2, core.PictureStorageFull))
		e.shows(at, http.StatusOK, "https://old.example/a.png", "Not found", "Your image storage is full",
			"Retry images",
			"2 images couldn&#39;t be copied")
		for range 2 { // the second time there is nothing to retry
			e.sends(at+"/images", http.StatusSeeOther, url.Values{})
		}
		e.shows(at, http.StatusOK, "0 of 2 images", "-Retry images")
		e.must(e.store.FailPicture(t.Context(), &imports.PictureTurn{ImportID: id}, 1, core.PictureNotFound))
		e.sends(at+"/images", http.StatusConflict, url.Values{})

		issues := "/lists/" + e.list.ID + "/issues"
		e.shows(issues, http.StatusOK, "On engines", "Remove")
		for range 2 {
			e.sends(issues, http.StatusSeeOther, url.Values{"slug": {"engines"}})
		}
		e.shows(issues, http.StatusOK, "No imported issues", "-On engines")
		e.counts("SELECT count(*) FROM imported_issue", 0)
	})
}

// The page of an import lists posts to choose from. Those that everyone could read are chosen at first.
func TestChosenPosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		at := e.uploads(e.list.ID, "export.zip", blog(t, "<p>Wheels</p>"))
		page := e.shows(at, http.StatusOK, `name="post.1" value="1" checked`)
		if n := strings.Count(page, `name="post.`); n != 3 || strings.Count(page, `value="1" checked`) != 1 {
			t.Errorf("%d posts in %s", n, page)
		}
		add := func(form url.Values, issues, notice string) {
			t.Helper()
			form.Set("do", "add")
			form.Set("chosen", "1")
			if to := e.sends(at+"/posts", http.StatusSeeOther, form); to != at+notice {
				t.Errorf("%s, not %s", to, at+notice)
			}
			var titles string
			e.must(e.store.Get(t.Context(), &titles,
				"SELECT coalesce(group_concat(title, '+' ORDER BY title), '') FROM issue"))
			if titles != issues {
				t.Errorf("%s, not %s", titles, issues)
			}
		}
		e.sends(at, http.StatusBadRequest, url.Values{"do": {"try"}}, `name="post.1" value="1" checked`)
		add(url.Values{}, "", "?done=none-chosen")
		add(url.Values{"site": {"https://new.example"}}, "", "?done=saved")
		add(url.Values{"site": {"https://new.example"}}, "", "?done=none-chosen") // the form has the known site
		add(url.Values{"post.2": {"1"}}, "Secrets", "")
		e.shows(at, http.StatusOK, "-post.2", "In the archive")
		add(url.Values{"post.1": {"1"}, "post.2": {"1"}, "post.3": {"1"}}, "An idea+On engines+Secrets", "")
		e.shows(at, http.StatusOK, "-post.", "URL of your old site")
		e.sends(at+"/posts", http.StatusSeeOther, url.Values{"do": {"add"}, "site": {"old.example"}})
		e.shows(at, http.StatusOK, "-Import posts", "Save URL", "Remove posts")
	})
}
