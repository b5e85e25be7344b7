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
	"newsletterd/store/imports"
)

// ghostSite is a Ghost export with two posts that link to each other and to a page that is not in it.
const ghostSite = `{"db":[{"data":{"posts":[
{"id":"1","title":"May","slug":"may",
 "html":"<p>A<a href=\"__GHOST_URL__/june/\">June</a><a href=\"__GHOST_URL__/tag/x/\">Tag</a></p>",
 "feature_image":"__GHOST_URL__/content/bed.png","status":"published","published_at":"2024-05-01T10:00:00.000Z"},
{"id":"2","title":"June","slug":"june","html":"<p>B<a href=\"https://www.blog.example/may/?ref=x\">May</a></p>",
 "status":"published","published_at":"2024-06-01T10:00:00.000Z"}]}}]}`

// Posts of a Ghost export have no address of their site. It can be entered before or after they are imported. Links
// between the posts lead to the issues, and back to the old site once an issue is removed.
func TestAddressesOfOldSites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		_, err := e.store.UpdateList(t.Context(), e.list.ID, "test", func(l *core.List) error {
			return l.Change(core.ListInput{Archive: new(true), Slug: new("weekly")}, core.At(time.Now()))
		})
		e.must(err)
		const here = "https://news.example.org/a/weekly/"
		shows := func(path string, want ...string) {
			e.Helper()
			w := httptest.NewRecorder()
			e.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/a/weekly/"+path, nil))
			for _, text := range want {
				said, absent := strings.CutPrefix(text, "-")
				if strings.Contains(w.Body.String(), said) == absent {
					e.Errorf("%s: %d, %s\n%s", path, w.Code, text, w.Body)
				}
			}
		}
		at := e.uploads(e.list.ID, "ghost.json", ghostSite)
		e.shows(at, http.StatusOK, "1 post has links or images that lack this URL", "-Enter the URL")
		e.sends(at+"/posts", http.StatusSeeOther, url.Values{"do": {"add"}})
		e.shows(at, http.StatusOK, "0 of 1 images", "-URL of your old site")
		turn := imports.PictureTurn{ImportID: at[strings.LastIndex(at, "/")+1:]}
		e.must(e.store.FailPicture(t.Context(), &turn, 1, core.PictureNoSite))
		e.shows(at, http.StatusOK, "Links and images are missing. Enter the URL of your old site.", "Save URL",
			"The URL of your old site is missing")
		shows("may", `<a href="`+here+`june"`, "<a>Tag</a>", "-bed.png", "-GHOST_URL")
		shows("june", `<a href="https://www.blog.example/may/?ref=x"`)
		shows("feed.xml", "-"+here+"may&#34; rel")

		e.sends(at+"/posts", http.StatusBadRequest, url.Values{"do": {"add"}, "site": {"not a site"}},
			"Enter the URL of your old site, for example", `value="not a site"`)
		e.sends(at+"/posts", http.StatusSeeOther, url.Values{"do": {"add"}, "site": {"blog.example/"}})
		e.shows(at, http.StatusOK, "-URL of your old site")
		e.counts("SELECT count(*) FROM import_job WHERE site = 'https://blog.example'", 1)
		shows("may", `<a href="`+here+`june"`, `<a href="https://blog.example/tag/x/"`,
			`src="https://blog.example/content/bed.png"`)
		shows("june", `<a href="`+here+`may"`)
		shows("feed.xml", "https://blog.example/tag/x/", here+"may", "-www.blog.example")
		e.counts("SELECT count(*) FROM import_picture WHERE state = 'waiting'", 1)

		// The address was mistyped.
		e.must(e.store.FailPicture(t.Context(), &turn, 1, core.PictureUnreachable))
		e.shows(at, http.StatusOK, `value="https://blog.example"`, "Save URL", "-Import posts")
		e.sends(at+"/posts", http.StatusSeeOther, url.Values{"do": {"add"}, "site": {"https://blog.example"}})
		e.counts("SELECT count(*) FROM import_picture WHERE state = 'waiting'", 0) // the same site isn't asked again
		e.sends(at+"/posts", http.StatusSeeOther, url.Values{"do": {"add"}, "site": {"https://blog2.example"}})
		e.counts("SELECT count(*) FROM import_picture WHERE state = 'waiting'", 1)
		shows("may", `<a href="`+here+`june"`, `<a href="https://blog2.example/tag/x/"`,
			`src="https://blog2.example/content/bed.png"`)
		again := e.uploads(e.list.ID, "again.json", ghostSite)
		e.sends(again+"/posts", http.StatusSeeOther, url.Values{"do": {"add"}, "site": {"https://blog.example"}})
		e.counts("SELECT count(*) FROM issue", 2)
		shows("may", `<a href="https://blog.example/tag/x/"`)
		shows("june", `<a href="`+here+`may"`)

		e.sends("/lists/"+e.list.ID+"/issues", http.StatusSeeOther, url.Values{"slug": {"may"}})
		shows("june", `<a href="https://www.blog.example/may/?ref=x"`)
		shows("feed.xml", "https://www.blog.example/may/?ref=x")
		e.sends(at+"/posts", http.StatusSeeOther, url.Values{"do": {"add"}})
		shows("june", `<a href="`+here+`may"`)
		shows("feed.xml", here+"may", "-www.blog.example")
	})
}
