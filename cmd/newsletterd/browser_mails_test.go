package main

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/mail"
	"newsletterd/mail/markup"
)

// mailPages serves mails as pages, with a picture of our own in the place of each of theirs.
type mailPages struct {
	*httptest.Server
	pages map[string]string // by path
}

var pictureAddress = regexp.MustCompile(`(<img [^>]*src=")https?://[^"]*`)

func newMailPages(t *testing.T) *mailPages {
	t.Helper()
	m := &mailPages{pages: map[string]string{}}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 1200, 800))); err != nil {
		t.Fatal(err)
	}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if page, ok := m.pages[r.URL.Path]; ok {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte(page))
			return
		}
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(picture.Bytes())
	}))
	t.Cleanup(m.Close)
	return m
}

// add serves a mail under a path.
func (m *mailPages) add(path, page string) {
	m.pages[path] = pictureAddress.ReplaceAllString(page, "${1}/picture.png")
}

// newsletterPage returns the HTML of a newsletter as a reader gets it, whose preferences are given as JSON.
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

// The long newsletters of testdata fit into the window of a telephone in every theme. Where a mail program drops their
// style blocks, a telephone of the smallest size scrolls tables of many columns.
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
						t.Error(fmt.Sprintf("%s, %d pixels wide: it stands out by %g", p, width, over))
					}
				}
			}
		}
	}
}
