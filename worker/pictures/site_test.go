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
	b.Must(b.PublishPosts(t.Context(), id, core.PostsInput{Site: core.OldSite(b.site.URL)}, "user:1", now0,
		func(string, string) (t imports.PostText, err error) { return t, nil }))
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
	b.Must(b.PublishPosts(t.Context(), id, core.PostsInput{Site: "http://127.0.0.1:2"}, "user:1", now0,
		func(string, string) (t imports.PostText, err error) { return t, nil }))
	b.loop().Step(t.Context(), time.Now())
	if got := b.reasons(id); got["/in.png"] != core.PictureStored || got["/6.png"] != core.PictureUnreachable {
		t.Error(got)
	}
}
