package handlers

import (
	"bytes"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/web/webtest"
	"newsletterd/mail/picture"
	"newsletterd/store/storetest"
)

func init() {
	setups = append(setups, func(_ *env, o *Options) {
		o.MediaLimits = core.MediaLimits{Bytes: 20_000, BytesPerTenant: 40_000}
	})
	// picture NAME type=png|jpeg|gif width=N height=N: the bytes of an image file
	steps["picture"] = func(e *env, name string, args map[string]string) {
		var w, h int
		_, err := fmt.Sscan(argOr(args, "width", "30")+" "+argOr(args, "height", "20"), &w, &h)
		e.must(err)
		m := image.NewGray(image.Rect(0, 0, w, h))
		var b bytes.Buffer
		switch args["type"] {
		case "jpeg":
			err = jpeg.Encode(&b, m, nil)
		case "gif":
			err = gif.Encode(&b, m, nil)
		default:
			err = png.Encode(&b, m)
		}
		e.must(err)
		e.name(name, b.String())
	}
	// pdf NAME: a document, and the path of a file with this name
	steps["pdf"] = func(e *env, name string, _ map[string]string) {
		const document = "%PDF-1.7 the prices"
		e.name(name, document)
		f, _ := picture.Document([]byte(document))
		e.name(name+".path", f.Path("Our prices.pdf"))
	}
	// media NAME tenant=TENANT [id=ID]: an image that emails show at half size
	steps["media"] = func(e *env, name string, args map[string]string) {
		s := storetest.Seed(e.t, e.store)
		s.TenantID = e.value(args["tenant"])
		m := s.NewMedia(name, []string{"mail " + name, "full " + name}, func(m *core.Media) {
			m.ID = argOr(args, "id",
				m.ID)
		})
		e.name(name, m.ID)
		e.name(name+".digits", m.Mail.Digits())
		e.name(name+".full", m.Full.Digits())
	}
	// letter TENANT shows=MEDIA: a template that shows an image
	steps["letter"] = func(e *env, name string, args map[string]string) {
		s := storetest.Seed(e.t, e.store)
		s.TenantID = e.value(name)
		s.NewTemplate(core.TemplateInput{
			Name: new("letter"), BodyHTML: new(`<img src="http://news.test/m/` + e.value(args["shows"]+".full") + `/x.png">`),
		})
	}
	// full TENANT: its images have the maximum total size
	steps["full"] = func(e *env, name string, _ map[string]string) {
		s := storetest.Seed(e.t, e.store)
		s.TenantID = e.value(name)
		s.NewMedia("full", []string{strings.Repeat("x", 40_000)})
	}
}

func TestPicturesAreServedWholeAndInParts(t *testing.T) {
	e := newEnv(t)
	client := webtest.Client{TB: t, URL: e.url}
	s := storetest.Seed(t, e.store)
	content := strings.Repeat("0123456789abcdef", 100_000) // two chunks
	m := s.NewMedia("Spring sale.png", []string{content})
	path := m.Mail.Path(m.Name)
	res := client.Get(path)
	for name, want := range map[string]string{
		"Content-Type": "image/png", "Content-Disposition": `inline; filename="Spring-sale.png"`,
		"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff",
		"Cache-Control": "public, max-age=31536000, immutable", "Etag": `"` + m.Mail.SHA256 + `"`,
		"Accept-Ranges": "bytes", "Set-Cookie": "", "Content-Length": "1600000",
		"Cross-Origin-Resource-Policy": "cross-origin", "Access-Control-Allow-Origin": "",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s: %q, not %q", name, got, want)
		}
	}
	if res.StatusCode != 200 || res.Text != content {
		t.Errorf("%d, %d bytes", res.StatusCode, len(res.Text))
	}
	for _, h := range res.Header {
		if strings.Contains(strings.Join(h, " "), m.TenantID) {
			t.Errorf("the tenant is told: %v", h)
		}
	}
	for _, c := range []struct {
		method, header, value string
		status                int
		body                  string
	}{
		{"GET", "Range", "bytes=1048570-1048585", 206, content[1048570:1048586]},
		{"GET", "Range", "bytes=-4", 206, "cdef"},
		{"GET", "Range", "bytes=1599990-", 206, content[1599990:]},
		{"GET", "Range", "bytes=1600000-", 416, "invalid range: failed to overlap\n"},
		{"GET", "Range", "bytes=9-1", 416, "invalid range\n"},
		{"GET", "Range", "Bytes=0-3", 206, "0123"},
		{"GET", "Range", "items=0-5", 200, content},
		{"GET", "Range", "seconds=1-2", 200, content},
		{"GET", "Range", "bytes", 200, content},
		{"GET", "Range", "bytesize=0-5", 200, content},
		{"GET", "If-None-Match", `"` + m.Mail.SHA256 + `"`, 304, ""},
		{"GET", "If-None-Match", `"other"`, 200, content},
		{"GET", "If-Match", `"other"`, 412, ""},
		{"GET", "If-Range", `"other"`, 200, content},
		{"HEAD", "Accept", "*/*", 200, ""},
		{"GET", "Range", "bytes=0-0" + strings.Repeat(",2-2", 8), 200, content},
	} {
		res := client.Send(c.method, path, nil, c.header, c.value)
		if res.StatusCode != c.status || res.Text != c.body {
			t.Errorf("%s %s: %s: %d, %d bytes", c.method, c.header, c.value, res.StatusCode, len(res.Text))
		}
		if c.status >= 400 && res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", c.value, res.Header)
		}
	}
	res = client.Send("GET", path, nil, "Range", "bytes=0-3,16-19")
	if media := res.Header.Get("Content-Type"); res.StatusCode != 206 ||
		!strings.HasPrefix(media, "multipart/byteranges; boundary=") || strings.Count(res.Text, "0123") != 2 {
		t.Errorf("two ranges: %d %s %q", res.StatusCode, media, res.Text)
	}
}

func TestPicturesOfNoOneAreMissing(t *testing.T) {
	e := newEnv(t)
	client := webtest.Client{TB: t, URL: e.url}
	s := storetest.Seed(t, e.store)
	m := s.NewMedia("a.png", []string{"a picture"})
	path := m.Mail.Path(m.Name)
	digits := m.Mail.Digits()
	for _, wrong := range []string{
		"/m/" + digits + "/a.html", "/m/" + digits + "/a.gif", "/m/" + digits + "/a", "/m/" + digits + "/%2e%2e",
		"/m/" + digits + "/a%22.png", "/m/" + digits[:31] + "/a.png", "/m/" + m.Mail.SHA256 + "/a.png",
		"/m/" + strings.ToUpper(digits) + "/a.png", "/m/" + strings.Repeat("0", 32) + "/a.png", "/m/" + digits + "/",
		"/m/" + strings.Repeat("g", 32) + "/a.png",
	} {
		if res := client.Get(wrong); res.StatusCode != 404 || res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", wrong, res.StatusCode, res.Header)
		}
	}
	// Emails that were sent before the image was renamed still show it.
	if res := client.Get("/m/" + digits + "/an-earlier-name.png"); res.StatusCode != 200 {
		t.Errorf("%d", res.StatusCode)
	}
	s.Must(s.DeleteTenant(t.Context(), m.TenantID, "test", s.Time()))
	if res := client.Get(path); res.StatusCode != 404 {
		t.Errorf("of a deleted tenant: %d", res.StatusCode)
	}
}

// The image at a URL never changes, because the URL contains digits of the file's hash and no request can replace the
// file. Approving the URL therefore approves the image. The image can only be deleted, which the digest of an approval
// covers.
func TestAnAddressShowsOnePicture(t *testing.T) {
	e := newEnv(t)
	s := storetest.Seed(t, e.store)
	tenant := s.NewTenant()
	e.name("acme", tenant.ID)
	steps["user"](e, "ed", map[string]string{"editor": "acme"})
	client := (&webtest.Client{TB: t, URL: e.url}).As("token-of-ed")
	upload := func(width string) (m core.MediaView) {
		steps["picture"](e, "file"+width, map[string]string{"width": width, "type": "png"})
		client.Send("POST", "/api/media?name=boot.png&tenant_id="+tenant.ID, strings.NewReader(e.value("file"+width)),
			"Content-Type", "image/png").Wants(201).JSON(&m)
		return m
	}
	path := func(m *core.MediaView) string {
		_, path, _ := strings.Cut(m.URL, core.MediaPath)
		return core.MediaPath + path
	}
	m := upload("30")
	first := client.Get(path(&m)).Wants(200).Text
	client.Send("PATCH", "/api/media/"+m.ID, map[string]any{"name": "shoe.png", "alt": "A shoe"}).Wants(200)
	if other := upload("40"); path(&other) == path(&m) {
		t.Errorf("another picture of the same name has the same address %s", other.URL)
	}
	if client.Get(path(&m)).Wants(200).Text != first {
		t.Error("the address shows another picture")
	}
	for _, method := range []string{"PUT", "POST"} {
		if res := client.Send(method, "/api/media/"+m.ID, map[string]any{"url": "x"}); res.StatusCode != 405 {
			t.Errorf("%s: %d %s", method, res.StatusCode, res.Text)
		}
	}
	client.Send("DELETE", "/api/media/"+m.ID, nil).Wants(204)
	client.Get(path(&m)).Wants(404)
	if again := upload("30"); path(&again) != path(&m) || client.Get(path(&m)).Wants(200).Text != first {
		t.Errorf("the same picture once more: %s, then %s", m.URL, again.URL)
	}
}
