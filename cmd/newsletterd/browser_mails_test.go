package main

import (
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/markup"
)

// mailPages serves emails as pages, and replaces each of their images with its own.
type mailPages struct {
	*httptest.Server
	pages map[string]string // by path
}

var pictureAddress = regexp.MustCompile(`(<img [^>]*src=")(https?://[^"]*)`)

func newMailPages(t *testing.T) *mailPages {
	t.Helper()
	m := &mailPages{pages: map[string]string{}}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if page, ok := m.pages[r.URL.Path]; ok {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte(page))
			return
		}
		n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/picture"))
		w.Header().Set("Content-Type", "image/jpeg")
		_ = jpeg.Encode(w, landscape(n), nil)
	}))
	t.Cleanup(m.Close)
	return m
}

// add serves an email at a path.
func (m *mailPages) add(path, page string) {
	m.pages[path] = pictureAddress.ReplaceAllStringFunc(page, func(tag string) string {
		parts := pictureAddress.FindStringSubmatch(tag)
		return parts[1] + "/picture" + strconv.Itoa(int(crc32.ChecksumIEEE([]byte(parts[2]))%5))
	})
}

// landscape draws hills in front of a sky.
func landscape(n int) image.Image {
	const w, h = 600, 400
	skies := [...][2]core.Color{
		{{0xf6, 0xd3, 0xb0}, {0x7f, 0xa8, 0xb8}},
		{{0xfb, 0xe7, 0xc6}, {0xb4, 0x6a, 0x55}},
		{{0xd9, 0xe6, 0xe3}, {0x3f, 0x6f, 0x6a}},
		{{0xf2, 0xd5, 0xda}, {0x6a, 0x4c, 0x7d}},
		{{0xe8, 0xea, 0xd0}, {0x5d, 0x7a, 0x3e}},
	}
	sky := skies[n%len(skies)]
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for x := range w {
		for y := range h {
			c := sky[0].Mix(sky[1], float64(y)/h*0.5)
			for hill := range 4 {
				a := float64(x)/w*(3+float64(hill))*2 + float64(n*7+hill*hill)
				if float64(y) > h*(0.42+0.14*float64(hill))+(34-6*float64(hill))*(math.Sin(a)+0.5*math.Sin(2.3*a)) {
					c = sky[1].Mix(core.Black, 0.18*float64(hill)).Mix(sky[0], 0.5-0.16*float64(hill))
				}
			}
			m.SetRGBA(x, y, color.RGBA{c[0], c[1], c[2], 255})
		}
	}
	return m
}

// newsletterPage returns the HTML of a newsletter for a reader with the given preferences, in JSON.
func newsletterPage(t *testing.T, file, theme, preferences string) string {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kind, name := markup.KindMarkdown, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	if filepath.Ext(file) == ".json" {
		kind = markup.KindBlocks
	}
	looks, err := markup.BuiltInTheme(theme)
	if err != nil {
		t.Fatal(err)
	}
	o := markup.Options{
		Theme: looks, Language: name[len(name)-2:], Title: "Title", Name: "The Letter", Address: "Street 1\nTown",
	}
	r, err := markup.Compile(kind, string(source), o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := mail.CompileBulk(&mail.BulkSpec{
		From: mail.Address{Email: "letter@example.org"}, ListID: "l", JobID: "j", TenantID: "t", Subject: "Subject",
		HTML: r.HTML, Text: r.Text, Language: o.Language,
		Shared: mail.Shared{List: map[string]string{"id": "list-1", "name": "The Letter"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _, page, err := b.Parts(&mail.Recipient{
		Email: "zoe@example.org", SubscriberID: "s1", UnsubscribeURL: "https://letter.example/leave", Preferences: preferences,
	})
	if err != nil {
		t.Fatal(err)
	}
	return page
}

var styleBlock = regexp.MustCompile(`(?s)<style>.*?</style>`)

// TestNewslettersInABrowser checks that the long newsletters of testdata fit a phone in every theme. If an email
// program drops their style blocks, tables with many columns scroll on the smallest phone.
func TestNewslettersInABrowser(t *testing.T) {
	b := browsertest.New(t)
	pages := newMailPages(t)
	files, err := filepath.Glob("../../testdata/newsletters/*.*")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		for _, theme := range markup.ThemeNames() {
			path := "/" + filepath.Base(file) + "/" + theme
			page := newsletterPage(t, file, theme, `{"first_name": "Zoë", "member": true, "beta": true, "plan": "team"}`)
			pages.add(path, page)
			pages.add(path+"/inline", styleBlock.ReplaceAllString(page, ""))
			for p, widths := range map[string][]int64{path: {320, 375}, path + "/inline": {360, 375}} {
				b.Open(pages.URL + p)
				for _, width := range widths {
					if over := b.Overflow(width); over > 0 {
						t.Errorf("%s, %d pixels wide: it stands out by %g", p, width, over)
					}
				}
			}
		}
	}
}
