package pictures_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

// tooDeep is clean HTML that has too many levels once it is written and read again.
func tooDeep(picture string) string {
	return strings.Repeat("<div>", 502) + "<b><i><u><s><em><strong><small><code><p>x</b></i></u></s></em></strong>" +
		`</small></code>y<img src="` + picture + `"><table><a href="https://e.example/x">z<table></table></a></table>`
}

// neighbor returns another tenant's list in the same installation.
func (b *blog) neighbor() *blog {
	other := *b
	other.Seeder = storetest.Seed(b.TB, b.Store)
	other.ListID = other.NewList().ID
	return &other
}

// An issue that can't show copies stays as it is. Other tenants' pictures are copied.
func TestIssuesThatCantShowCopies(t *testing.T) {
	for _, panics := range []bool{false, true} {
		b := newBlog(t, serve(t))
		body := tooDeep(b.site.URL + "/a.png")
		if panics {
			body, b.text = `<img src="`+b.site.URL+`/a.png">`, func(body string) {
				if strings.Contains(body, "/a.png") {
					panic("text")
				}
			}
		}
		next := `<img src="` + b.site.URL + `/hops/0">`
		b.imports(nil, body, next)
		other := b.neighbor()
		other.imports(nil, next)
		b.loop().Step(t.Context(), time.Now())
		if n := b.Count("SELECT count(*) FROM import_post WHERE fetching = 1"); n != 0 {
			t.Errorf("%d issues wait", n)
		}
		if n := b.Count("SELECT count(*) FROM imported_issue WHERE body LIKE '%/m/%'"); n != 2 {
			t.Errorf("%d issues show copies", n)
		}
		if !strings.Contains(b.bodies(), b.site.URL+"/a.png") {
			t.Error("the issue has changed")
		}
	}
}

// panicking panics when it connects to a picture.
type panicking struct{ http.RoundTripper }

func (p panicking) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/panic.png" {
		panic("data")
	}
	return p.RoundTripper.RoundTrip(r)
}

// A picture that causes a panic counts as damaged. Other pictures are not affected.
func TestPicturesThatCausePanics(t *testing.T) {
	b := newBlog(t, serve(t))
	at := b.site.URL
	b.wrap = func(t http.RoundTripper) http.RoundTripper { return panicking{t} }
	id := b.imports(nil, `<img src="`+at+`/panic.png"><img src="`+at+`/a.png">`)
	b.loop().Step(t.Context(), time.Now())
	if got := b.reasons(id); got[at+"/panic.png"] != core.PictureDamaged || got[at+"/a.png"] != core.PictureStored {
		t.Error(got)
	}
}

// Pictures that no issue needs don't count as waiting. Pictures of issues whose removal was interrupted can be retried.
func TestPicturesWaitForAnIssue(t *testing.T) {
	b := newBlog(t, serve(t))
	at := b.site.URL
	id := b.imports(nil, `<img src="`+at+`/a.png">`, `<img src="`+at+`/hops/0">`)
	remove := func(title string) {
		var slug string
		b.Must(b.Get(t.Context(), &slug, "SELECT slug FROM issue WHERE title = ?", title))
		b.Must(b.RemoveIssue(t.Context(), b.ListID, slug, "user:1", now0))
	}
	b.Must(b.Update(t.Context(), func(tx *db.Tx) error { // a removal was interrupted after its first operation
		_, err := tx.Exec("UPDATE import_picture SET state = 'listed'")
		if err == nil {
			_, err = tx.Exec("UPDATE import_post SET fetching = 0")
		}
		return err
	}))
	_, err := b.RetryPictures(t.Context(), id, "user:1", now0)
	b.Must(err)
	remove("Post 0")
	b.loop().Step(t.Context(), time.Now())
	if got := b.reasons(id); got[at+"/a.png"] != core.PictureListed || got[at+"/hops/0"] != core.PictureStored {
		t.Error(got)
	}
	remove("Post 1")
	later := now0.Add(time.Hour)
	if _, err = b.RetryPictures(t.Context(), id, "user:1", later); core.KindOf(err) != core.Conflict {
		t.Errorf("without issues: %v", err)
	}
}
