package pictures_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"newsletterd/core"
	"newsletterd/mail/article"
	"newsletterd/mail/picture"
	"newsletterd/netguard"
	"newsletterd/store/campaigns"
	"newsletterd/store/files"
	"newsletterd/store/imports"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
	"newsletterd/worker"
	"newsletterd/worker/pictures"
)

var now0 = core.At(time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC))

// drawn returns a PNG whose content depends on shade.
func drawn(shade uint8) []byte {
	m := image.NewGray(image.Rect(0, 0, 300, 200))
	for i := range m.Pix {
		m.Pix[i] = shade
	}
	m.Set(1, 1, color.White)
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// blog is a tenant whose posts are imported, and the server with their pictures.
type blog struct {
	*storetest.Seeder
	site    *httptest.Server
	allowed []string
	limits  core.MediaLimits
	wrap    func(http.RoundTripper) http.RoundTripper
	text    func(body string) // runs before the text of an issue is read
	title   string            // of all posts, which then have the same date; empty: they differ and have no date
}

func newBlog(t *testing.T, serve http.HandlerFunc) *blog {
	site := httptest.NewServer(serve)
	t.Cleanup(site.Close)
	return &blog{
		Seeder: storetest.SeedList(t, now0), site: site,
		allowed: []string{site.Listener.Addr().String(), "127.0.0.1:2"},
		limits:  core.MediaLimits{Bytes: core.DefaultMediaBytes, BytesPerTenant: core.DefaultMediaBytesPerTenant},
	}
}

func (b *blog) loop() *worker.Loop {
	client := (&netguard.Guard{Allow: b.allowed}).Client()
	if b.wrap != nil {
		client.Transport = b.wrap(client.Transport)
	}
	return pictures.Loop(pictures.Options{
		Store: b.Store, Client: client, Limits: b.limits,
		Origin: "https://news.example", Memory: semaphore.NewWeighted(picture.MaxMemory),
		Log: slog.New(slog.NewTextHandler(b.Output(), nil)),
		Text: func(_ context.Context, _, body string) (campaigns.IssueText, error) {
			if b.text != nil {
				b.text(body)
			}
			_, _, err := article.ImportedText("Title", body)
			return campaigns.IssueText{Words: body}, err
		},
	})
}

// Count returns a number in the database.
func (b *blog) Count(query string) (n int) {
	b.Helper()
	b.Must(b.Get(b.Context(), &n, query))
	return n
}

func keys(body string) (all []string) {
	for _, a := range article.PostPictures(body) {
		all = append(all, core.PictureKey(a))
	}
	return all
}

// imports uploads posts with these bodies and publishes them.
func (b *blog) imports(packed map[string][]byte, bodies ...string) string {
	b.Helper()
	u, err := b.NewImportUpload(b.Context(), core.ImportJob{
		ID: core.NewID(), ListID: b.ListID, Name: "export.zip", CreatedBy: "user:1", CreatedAt: now0,
	}, 1<<20)
	b.Must(err)
	u.PostsOnly, u.Tool = true, "substack"
	for k, body := range bodies {
		p := core.ImportedPost{No: int64(k + 1), Title: fmt.Sprint("Post ", k)}
		if b.title != "" {
			p.Title, p.PostedAt = b.title, now0
		}
		b.Must(u.KeepPost(b.Context(), &p, body, keys(body)...))
	}
	for address, data := range packed {
		if key := core.PictureKey(address); u.Wants(key) && !u.Wants(key) && !u.Wants("other.png") {
			b.Must(u.PackPicture(b.Context(), key, data))
		}
	}
	j, err := u.Commit(b.Context(), now0)
	b.Must(err)
	b.publish(j.ID, "")
	return j.ID
}

func (b *blog) publish(id string, site core.OldSite) {
	b.Helper()
	b.Must(b.PublishPosts(b.Context(), id, core.PostsInput{Site: site}, "user:1", now0,
		func(_, body string) (imports.PostText, error) {
			return imports.PostText{Words: "w", Pictures: keys(body)}, nil
		}))
}

// reasons returns the state of each picture, or why it failed, by address.
func (b *blog) reasons(id string) map[string]string {
	b.Helper()
	ps, err := b.ImportPictures(b.Context(), id, "", core.Page{Limit: 1000})
	b.Must(err)
	all := map[string]string{}
	for _, p := range ps {
		all[p.Address] = p.State
		if p.Reason != "" {
			all[p.Address] = p.Reason
		}
	}
	return all
}

func (b *blog) bodies() string {
	b.Helper()
	var all []string
	b.Must(b.All(b.Context(), &all, "SELECT body FROM imported_issue ORDER BY issue_no"))
	return strings.Join(all, "\n")
}

// serve answers with what the path asks for.
func serve(t *testing.T) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		send := func(kind string, body []byte) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write(body)
		}
		var n int
		switch path := r.URL.Path; {
		case path == "/a.png", path == "/full/a.png":
			send("image/png", drawn(10))
		case path == "/large.png":
			w.Header().Set("Content-Length", "20000000")
			w.Header().Set("Content-Type", "image/png")
		case path == "/endless.png":
			w.Header().Set("Content-Type", "image/png")
			for range 11 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		case path == "/page":
			send("text/html", []byte("<html>"))
		case path == "/lie.png":
			send("image/png", []byte("<html>"))
		case path == "/cut.png":
			send("image/png", drawn(10)[:60])
		case path == "/drawing.svg":
			send("image/svg+xml", []byte("<svg/>"))
		case path == "/packed.png":
			w.Header().Set("Content-Encoding", "gzip")
			send("image/png", drawn(10))
		case path == "/error.png":
			w.WriteHeader(http.StatusInternalServerError)
		case path == "/inside":
			http.Redirect(w, r, "http://127.0.0.1:1/x.png", http.StatusFound)
		case path == "/mail":
			http.Redirect(w, r, "mailto:a@b.example", http.StatusFound)
		default:
			if _, err := fmt.Sscanf(path, "/hops/%d", &n); err != nil {
				http.NotFound(w, r)
			} else if n == 0 {
				send("image/png", drawn(20))
			} else {
				http.Redirect(w, r, fmt.Sprint("/hops/", n-1), http.StatusFound)
			}
		}
	}
}

// Pictures of issues become images of the tenant. Those that can't be copied keep their address, with a reason.
func TestPicturesAreCopied(t *testing.T) {
	b := newBlog(t, serve(t))
	at := b.site.URL
	inline := "data:image/png;base64," + base64.StdEncoding.EncodeToString(drawn(30))
	want := map[string]string{
		at + "/a.png":                 core.PictureStored,
		at + "/full/a.png":            core.PictureStored,
		at + "/hops/5":                core.PictureStored,
		at + "/hops/6":                core.PictureRedirects,
		at + "/gone.png":              core.PictureNotFound,
		at + "/error.png":             core.PictureBadStatus,
		at + "/large.png":             core.PictureTooLarge,
		at + "/endless.png":           core.PictureTooLarge,
		at + "/page":                  core.PictureNotImage,
		at + "/lie.png":               core.PictureUnsupported,
		at + "/drawing.svg":           core.PictureUnsupported,
		at + "/mail":                  core.PictureBadAddress,
		at + "/cut.png":               core.PictureDamaged,
		at + "/packed.png":            core.PictureNotImage,
		at + "/inside":                core.PictureNotPublic,
		"http://127.0.0.1:1/x.png":    core.PictureNotPublic,
		"http://user@a.example/x.png": core.PictureBadAddress,
		"images/in.png":               core.PictureStored,
		"images/missing.png":          core.PictureNoSite,
		core.PictureKey(inline):       core.PictureStored,
		"http://127.0.0.1:2/x.png":    core.PictureUnreachable,
	}
	var body strings.Builder
	for address := range want {
		if !strings.HasPrefix(address, "data:") {
			fmt.Fprintf(&body, `<p><img src="%s" alt="A"></p>`, address)
		}
	}
	fmt.Fprintf(&body, `<img src="%s"><a href="%s/other/a.jpeg"><img src="%[2]s/a.png"></a><a href="%[2]s/a.png">A</a>`,
		inline, at)
	id := b.imports(map[string][]byte{"images/in.png": drawn(40)}, body.String(), `<img src="`+at+`/a.png">`)
	b.loop().Step(t.Context(), time.Now())

	got := b.reasons(id)
	for address, reason := range want {
		if got[address] != reason {
			t.Errorf("%s: %s, not %s", address, got[address], reason)
		}
	}
	if media := b.Count("SELECT count(*) FROM media"); media != 4 || len(got) != len(want) {
		t.Errorf("%d images of %d pictures", media, len(got))
	}
	if c, err := b.PictureCounts(t.Context(), id); err != nil || c != (core.PictureCounts{Stored: 5, Failed: 16}) {
		t.Errorf("%+v, %v", c, err)
	}
	bodies := b.bodies()
	for _, gone := range []string{at + "/a.png", at + "/other/a.jpeg", "data:", `"images/in.png`, at + "/hops/5"} {
		if strings.Contains(bodies, gone) {
			t.Errorf("an issue still shows %s: %s", gone, bodies)
		}
	}
	if n := strings.Count(bodies, "https://news.example/m/"); n != 9 || !strings.Contains(bodies, at+"/gone.png") {
		t.Errorf("%d copies: %s", n, bodies)
	}
	if n := b.Count("SELECT count(*) FROM import_post WHERE fetching = 1"); n != 0 {
		t.Errorf("%d issues wait", n)
	}
	if n := b.Count("SELECT count(*) FROM issue_text WHERE words LIKE '%/m/%'"); n != 2 {
		t.Errorf("%d texts follow", n)
	}
}

// Pictures that failed are copied when someone asks again. Removing the issues removes the copies that nothing else
// shows.
func TestPicturesAreRetriedAndRemoved(t *testing.T) {
	broken := true
	b := newBlog(t, func(w http.ResponseWriter, r *http.Request) {
		if broken && r.URL.Path == "/2.png" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(drawn(r.URL.Path[1]))
	})
	loop := b.loop()
	id := b.imports(nil, fmt.Sprintf(`<img src="%s/1.png"><img src="%[1]s/2.png">`, b.site.URL))
	loop.Step(t.Context(), time.Now())
	if n := b.Count("SELECT count(*) FROM media"); n != 1 {
		t.Fatalf("%d images", n)
	}
	broken = false
	_, err := b.RetryPictures(t.Context(), id, "user:1", now0)
	b.Must(err)
	loop.Step(t.Context(), time.Now())
	if body := b.bodies(); strings.Count(body, "/m/") != 2 || strings.Contains(body, b.site.URL) {
		t.Errorf("after the second try: %s", body)
	}
	for at, want := range map[core.Instant]string{
		now0.Add(10*time.Minute - 1): "once every 10 minutes",
		now0.Add(10 * time.Minute):   "There are no failed images to retry",
	} {
		_, err := b.RetryPictures(t.Context(), id, "user:1", at)
		if core.KindOf(err) != core.Conflict || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}

	// A template uses one copy, and the user has deleted none.
	m := core.Media{}
	b.Must(b.Get(t.Context(), &m.Mail, `SELECT f.no, f.sha256, f.type, f.width, f.height, f.bytes FROM media_file f JOIN
		media m ON m.mail_no = f.no ORDER BY m.id LIMIT 1`))
	shown := `<img src="https://news.example` + m.Mail.Path("a") + `">`
	template := b.NewTemplate(core.TemplateInput{Name: new("t"), BodyHTML: &shown})
	b.Must(b.WithdrawPosts(t.Context(), id, "user:1", now0))
	loop.Step(t.Context(), time.Now())
	if n := b.Count("SELECT count(*) FROM media"); n != 1 {
		t.Errorf("%d images are left", n)
	}
	b.publish(id, "") // again
	loop.Step(t.Context(), time.Now())
	if body := b.bodies(); strings.Count(body, "/m/") != 2 || b.Count("SELECT count(*) FROM media") != 3 {
		t.Errorf("after importing again: %s", body)
	}
	b.Must(b.WithdrawPosts(t.Context(), id, "user:1", now0))
	loop.Step(t.Context(), time.Now())
	b.Must(b.DeleteTemplate(t.Context(), template.ID, true, "test", now0))
	b.Must(b.DeleteImport(t.Context(), id, "user:1", now0))
	for more := true; more; {
		more, err = b.SweepImports(t.Context(), now0)
		b.Must(err)
	}
	b.Clean(people.Retention{})
	const tables = "import_job import_post import_picture import_chunk issue imported_issue issue_text"
	for _, table := range strings.Fields(tables) {
		if n := b.Count("SELECT count(*) FROM " + table); n != 0 {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
	if n := b.Count("SELECT count(*) FROM media_file"); n != 1 {
		t.Errorf("%d files are left", n)
	}
}

// Removing the issues while a picture is fetched stores nothing.
func TestRemovingIssuesEndsCopying(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	b := newBlog(t, func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		<-answer
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(drawn(1))
	})
	id := b.imports(nil, `<img src="`+b.site.URL+`/1.png">`)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.loop().Step(t.Context(), time.Now())
	}()
	<-asked
	b.Must(b.WithdrawPosts(t.Context(), id, "user:1", now0))
	close(answer)
	<-done
	b.Clean(people.Retention{})
	if n := b.Count("SELECT (SELECT count(*) FROM media) + (SELECT count(*) FROM media_file)"); n != 0 {
		t.Errorf("%d images and files", n)
	}
	if got := b.reasons(id)[b.site.URL+"/1.png"]; got != core.PictureListed {
		t.Errorf("the picture is %s", got)
	}
}

// A server that doesn't answer delays only its own tenant.
func TestSlowServersDelayTheirTenantOnly(t *testing.T) {
	answer := make(chan struct{})
	b := newBlog(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/slow") {
			<-answer
		}
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(drawn(r.URL.Path[1]))
	})
	slow := ""
	for k := range 20 {
		slow += fmt.Sprintf(`<img src="%s/slow/%d.png">`, b.site.URL, k)
	}
	b.imports(nil, slow)
	other := *b
	other.Seeder = storetest.Seed(t, b.Store)
	other.ListID = other.NewList().ID
	id := other.imports(nil, `<img src="`+b.site.URL+`/fast.png">`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.loop().Step(ctx, time.Now())
	}()
	for b.reasons(id)[b.site.URL+"/fast.png"] != core.PictureStored {
		if ctx.Err() != nil {
			t.Fatal("the other tenant waits")
		}
	}
	close(answer)
	<-done
}

// The limit of a tenant's images holds for copies too.
func TestCopiesKeepTheLimitOfImages(t *testing.T) {
	var asked atomic.Int64
	b := newBlog(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(drawn(1))
	})
	b.limits.BytesPerTenant = 10
	id := b.imports(nil, `<img src="`+b.site.URL+`/1.png">`)
	b.loop().Step(t.Context(), time.Now())
	if got := b.reasons(id)[b.site.URL+"/1.png"]; got != core.PictureStorageFull || asked.Load() != 1 {
		t.Errorf("%s after %d requests", got, asked.Load())
	}
	b.NewMedia("full", []string{"1234567890"}) // from now on, fetching is useless
	_, err := b.RetryPictures(t.Context(), id, "user:1", now0)
	b.Must(err)
	b.loop().Step(t.Context(), time.Now())
	if got := b.reasons(id)[b.site.URL+"/1.png"]; got != core.PictureStorageFull || asked.Load() != 1 {
		t.Errorf("without room: %s after %d requests", got, asked.Load())
	}
}

// An undated post whose pictures were replaced is still recognized when its export is imported again.
func TestPostsWithCopiesAreAddedOnce(t *testing.T) {
	b := newBlog(t, serve(t))
	body := `<img src="` + b.site.URL + `/a.png">`
	for range 2 {
		b.imports(nil, body)
		b.loop().Step(t.Context(), time.Now())
	}
	if n := b.Count("SELECT count(*) FROM issue"); n != 1 {
		t.Errorf("%d issues", n)
	}
}

// A picture of an archive may have several chunks.
func TestLargePackedPictures(t *testing.T) {
	b := newBlog(t, serve(t))
	data := bytes.Repeat([]byte("0123456789"), files.ChunkSize/4)
	id := b.imports(map[string][]byte{"a.png": data, "b.png": {1}}, `<img src="a.png"><img src="b.png">`)
	for no, want := range map[int64][]byte{1: data, 2: {1}, 3: nil} {
		if got, err := b.PackedPicture(t.Context(), id, no); err != nil || !bytes.Equal(got, want) {
			t.Errorf("picture %d: %d bytes, %v", no, len(got), err)
		}
	}
}
