package pictures_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/imports"
)

// Pictures without the address of their site are copied once it is known, even if the posts were imported before.
func TestPicturesOfASite(t *testing.T) {
	b := newBlog(t, serve(t))
	id := b.imports(nil, `<img src="/a.png"><img src="gone.png">`)
	b.loop().Step(t.Context(), time.Now())
	if got := b.reasons(id); got["/a.png"] != core.PictureNoSite || got["gone.png"] != core.PictureNoSite {
		t.Error(got)
	}
	b.publish(id, core.OldSite(b.site.URL))
	b.loop().Step(t.Context(), time.Now())
	if got := b.reasons(id); got["/a.png"] != core.PictureStored || got["gone.png"] != core.PictureNotFound {
		t.Error(got)
	}
	if bodies := b.bodies(); !strings.Contains(bodies, "https://news.example/m/") ||
		!strings.Contains(bodies, `src="gone.png"`) {
		t.Error(bodies)
	}
}

// A picture of the uploaded archive is copied even if the old site doesn't respond anymore.
func TestPackedPicturesOfALostSite(t *testing.T) {
	b := newBlog(t, serve(t))
	body := strings.Repeat(`<img src="/N.png">`, 7) + `<img src="/in.png">`
	for i := range 7 {
		body = strings.Replace(body, "N", strconv.Itoa(i), 1)
	}
	id := b.imports(map[string][]byte{"/in.png": drawn(9)}, body)
	b.publish(id, "http://127.0.0.1:2")
	b.loop().Step(t.Context(), time.Now())
	if got := b.reasons(id); got["/in.png"] != core.PictureStored || got["/6.png"] != core.PictureUnreachable {
		t.Error(got)
	}
}

// Importing an export again with another site corrects the first import, too, and its failed pictures are copied.
func TestAnImportCorrectsTheSiteOfAnother(t *testing.T) {
	b := newBlog(t, serve(t))
	posts := []string{`<img src="/a.png"><p>A</p>`, `<img src="/gone.png">`}
	first := b.imports(nil, posts...)
	b.publish(first, "http://127.0.0.1:2")
	b.loop().Step(t.Context(), time.Now())
	again := b.imports(nil, posts...)
	b.publish(again, core.OldSite(b.site.URL))
	b.loop().Step(t.Context(), time.Now())
	if got := b.reasons(first); got["/a.png"] != core.PictureStored || got["/gone.png"] != core.PictureNotFound {
		t.Error(got)
	}
	j, err := b.ImportJob(t.Context(), first)
	b.Must(err)
	if string(j.Site) != b.site.URL || b.Count("SELECT count(*) FROM imported_issue WHERE site LIKE '%:2'") != 0 {
		t.Errorf("the first import has the site %s", j.Site)
	}
}

// sweep deletes the posts of imports that ended a week ago.
func (b *blog) sweep() {
	b.Helper()
	for more := true; more; {
		var err error
		more, err = b.SweepImports(b.Context(), now0.Add(imports.FaultsKept)+1)
		b.Must(err)
	}
}

// Once the posts of an import are deleted, importing the export again copies the pictures that failed. Undoing that
// import keeps the issues and their pictures.
func TestALaterImportCopiesFailedPictures(t *testing.T) {
	b := newBlog(t, serve(t))
	post := `<img src="/a.png"><img src="/gone.png">`
	b.imports(nil, post)
	b.loop().Step(t.Context(), time.Now())
	b.sweep()
	again := b.imports(nil, post)
	b.publish(again, core.OldSite(b.site.URL))
	b.loop().Step(t.Context(), time.Now())
	if got := b.reasons(again); got["/a.png"] != core.PictureStored || got["/gone.png"] != core.PictureNotFound {
		t.Error(got)
	}
	b.Must(b.WithdrawPosts(t.Context(), again, "user:1", now0))
	b.loop().Step(t.Context(), time.Now())
	if bodies := b.bodies(); strings.Count(bodies, "https://news.example/m/") != 1 ||
		b.Count("SELECT count(*) FROM media") != 1 {
		t.Error(bodies)
	}
}

// Several posts can have the same title and date. A later import copies the failed pictures of each of them.
func TestALaterImportCopiesFailedPicturesOfEqualPosts(t *testing.T) {
	b := newBlog(t, serve(t))
	b.title = "Weekly"
	posts := []string{`<img src="/a.png">`, `<img src="/hops/0">`}
	b.imports(nil, posts...)
	b.loop().Step(t.Context(), time.Now())
	b.sweep()
	again := b.imports(nil, posts...)
	b.publish(again, core.OldSite(b.site.URL))
	b.loop().Step(t.Context(), time.Now())
	if got := b.reasons(again); got["/a.png"] != core.PictureStored || got["/hops/0"] != core.PictureStored {
		t.Error(got)
	}
	if n := b.Count("SELECT count(*) FROM imported_issue WHERE body LIKE '%/m/%'"); n != 2 {
		t.Errorf("%d issues show copies", n)
	}
}
