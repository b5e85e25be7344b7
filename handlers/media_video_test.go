package handlers

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/web/webtest"
	"newsletterd/netguard"
	"newsletterd/store/storetest"
)

// videoSite is a provider of videos: it describes them and serves their thumbnails.
type videoSite struct {
	*httptest.Server
	thumbnail string // path of the thumbnail that it names
	asked     atomic.Int64
}

func newVideoSite(t *testing.T) *videoSite {
	s := &videoSite{}
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 320, 180))); err != nil {
		t.Fatal(err)
	}
	m := http.NewServeMux()
	m.HandleFunc("/oembed", func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		at := s.thumbnail
		if strings.HasPrefix(at, "/") {
			at = s.URL + at
		}
		fmt.Fprintf(w, `{"title": "Tulips\n\u0007 in %s", "thumbnail_url": %q}`, r.FormValue("url")[8:], at)
	})
	m.HandleFunc("/vi/old/mqdefault.jpg", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(b.Bytes()) })
	m.HandleFunc("/t.png", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(b.Bytes()) })
	m.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
		_, _ = w.Write(b.Bytes()[:b.Len()/2])
	})
	m.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })
	s.Server = httptest.NewServer(m)
	t.Cleanup(s.Close)
	return s
}

// mediaEditor returns a client of an editor, and the ID of their tenant.
func mediaEditor(e *env) (client *webtest.Client, tenant string) {
	tenant = storetest.Seed(e.t, e.store).NewTenant().ID
	e.name("acme", tenant)
	steps["user"](e, "ed", map[string]string{"editor": "acme"})
	return (&webtest.Client{TB: e.t, URL: e.url}).As("token-of-ed"), tenant
}

// TestThumbnailsOfVideos fetches thumbnails from providers on loopback, through the guard.
func TestThumbnailsOfVideos(t *testing.T) {
	site := newVideoSite(t)
	host := strings.TrimPrefix(site.URL, "http://")
	guard := &netguard.Guard{Allow: []string{host}}
	videos := &drafts.Videos{Client: guard.Client(), OEmbed: map[core.VideoHost]string{
		core.YouTube: site.URL + "/oembed", core.Vimeo: site.URL + "/oembed",
	}}
	e := newEnv(t, func(o *Options) { o.Videos = videos })
	client, tenant := mediaEditor(e)
	add := func(video string) (reply webtest.Reply) {
		return client.Send("POST", "/api/media?tenant_id="+tenant+"&video="+url.QueryEscape(video), nil)
	}
	const film = "https://youtu.be/dQw4w9WgXcQ?t=3"
	for _, at := range []string{"/t.png", "/vi/old/hqdefault.jpg"} {
		site.thumbnail = at
		var m core.MediaView
		add(film).Wants(201).JSON(&m)
		if m.Width != 320 || m.Alt != "Tulips in www.youtube.com/watch?v=dQw4w9WgXcQ" || m.Name != m.Alt {
			t.Errorf("%s: %+v", at, m)
		}
	}
	for at, want := range map[string]string{
		"/missing": "video_unavailable", "": "video_unavailable", "file:///etc/passwd": "video_unavailable",
		"http://127.0.0.1:1/t.png": "video_unavailable", "/page": "unsupported_picture",
		"/broken": "can't reach YouTube",
	} {
		site.thumbnail = at
		if res := add(film).Wants(422); !strings.Contains(res.Text, want) {
			t.Errorf("%s: %s", at, res.Text)
		}
	}
	before := site.asked.Load()
	for _, video := range []string{site.URL + "/t.png", "https://shop.example/film", "https://vimeo.com/about"} {
		add(video).Wants(422)
	}
	if site.asked.Load() != before {
		t.Error("other addresses are fetched")
	}
	videos.Client = (&netguard.Guard{}).Client()
	site.thumbnail = "/t.png"
	if res := add(film).Wants(422); !strings.Contains(res.Text, "can't reach YouTube") {
		t.Error(res.Text)
	}
	if site.asked.Load() != before {
		t.Error("an address that is not public is fetched")
	}
}

// TestPlayMarksOfUploads checks that the image of a video gets a play mark, and that a PDF can't be one.
func TestPlayMarksOfUploads(t *testing.T) {
	e := newEnv(t)
	client, tenant := mediaEditor(e)
	steps["picture"](e, "boot", map[string]string{"width": "90", "height": "60"})
	steps["pdf"](e, "prices", nil)
	at := "/api/media?tenant_id=" + tenant
	var plain, marked core.MediaView
	client.Send("POST", at, strings.NewReader(e.value("boot")), "Content-Type", "image/png").Wants(201).JSON(&plain)
	film := at + "&video=" + url.QueryEscape("https://shop.example/film")
	client.Send("POST", film, strings.NewReader(e.value("boot")), "Content-Type", "image/png").Wants(201).JSON(&marked)
	if marked.URL == plain.URL || marked.Width != 90 {
		t.Errorf("%+v is like %+v", marked, plain)
	}
	client.Send("POST", film, strings.NewReader(e.value("prices")), "Content-Type", "application/pdf").Wants(422)
}

// TestConsoleFetchesThumbnails checks that the editor's request for a thumbnail, which has no body, is not taken for an
// image.
func TestConsoleFetchesThumbnails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleEditor)
		for video, want := range map[string]string{
			"https://youtu.be/dQw4w9WgXcQ": "YouTube has no thumbnail of this video.",
			"https://shop.example/film":    "Thumbnails can only be fetched from YouTube and Vimeo.",
		} {
			_, text := e.page("POST", e.path("upload-picture?video="+url.QueryEscape(video)), nil)
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s", video, text)
			}
		}
	})
}
