package main

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/core"
	"newsletterd/mail/markup"
)

// gallery are the newsletters that docs/gallery.md shows in each theme.
var gallery = []string{
	"../../testdata/newsletters/13-essay-en.md", "../../testdata/newsletters/01-garden-shop-en.json",
	"../../testdata/newsletters/03-release-notes-en.md",
}

// surroundings are the ways in which email programs change an email, and the width at which they show it.
var surroundings = []struct {
	name  string
	width int
	leave func(page string) string
}{
	{"light", 640, func(page string) string { return page }},
	{"dark", 640, darkened},
	{"telephone", 320, func(page string) string { return page }},
	{"dark telephone", 320, darkened},
	{"without style blocks", 320, func(page string) string { return styleBlock.ReplaceAllString(page, "") }},
	{"colours inverted", 640, inverted},
	{"what Word reads", 640, wordOnly},
}

// darkened returns a page as shown with a preference for dark colors.
func darkened(page string) string {
	return strings.ReplaceAll(page, "(prefers-color-scheme:dark)", "(min-width:1px)")
}

var (
	colorOf  = regexp.MustCompile(`#[0-9a-f]{6}`)
	unknown  = regexp.MustCompile(`(max-width|border-radius|letter-spacing|word-break|overflow-wrap):[^;"]*;?`)
	padding  = regexp.MustCompile(`(<(?:a|p|div)\b[^>]*?)padding:[^;"]*;?`)
	inBlock  = regexp.MustCompile(`(<div class="col"[^>]*?)display:inline-block;width:100%;?`)
	anywhere = regexp.MustCompile(`(<a\b[^>]*?)display:inline-block;?`)
	forMSO   = regexp.MustCompile(`(?s)<!--\[if mso\]>(.*?)<!\[endif\]-->`)
	widthCSS = regexp.MustCompile(`(<img [^>]*?)width:100%;`)
	altPad   = regexp.MustCompile(`mso-padding-alt`)

	officeXML = regexp.MustCompile(`(?s)<xml>.*?</xml>`)
)

// inverted returns a page without style blocks and with inverted colors, as some email programs show it.
func inverted(page string) string {
	return colorOf.ReplaceAllStringFunc(styleBlock.ReplaceAllString(page, ""), func(s string) string {
		c, _ := core.ParseColor(s)
		return c.Inverted().String()
	})
}

// wordOnly returns a page as Outlook for Windows reads it: with the contents of conditional comments, without
// properties that Word doesn't support, and with padding only on cells. A browser still lays it out, not Word.
func wordOnly(page string) string {
	page = styleBlock.ReplaceAllString(page, "")
	page = officeXML.ReplaceAllString(forMSO.ReplaceAllString(page, "$1"), "")
	for _, drop := range []*regexp.Regexp{widthCSS, padding, inBlock, anywhere} {
		page = drop.ReplaceAllString(page, "$1")
	}
	return altPad.ReplaceAllString(unknown.ReplaceAllString(page, ""), "padding")
}

// TestGalleryInABrowser checks that the newsletters of the gallery fit. If GALLERY names a folder, it puts their
// screenshots there, for `make gallery`.
func TestGalleryInABrowser(t *testing.T) {
	b := browsertest.New(t)
	pages := newMailPages(t)
	top, _ := strconv.Atoi(os.Getenv("GALLERY_TOP")) // pixels to cut off at the top
	for _, file := range gallery {
		for _, theme := range markup.ThemeNames() {
			name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))[3:] + "-" + theme
			page := newsletterPage(t, file, theme, `{"first_name": "Zoë", "member": true}`)
			var sheet strings.Builder
			sheet.WriteString(`<body style="margin:0;background:#8a8f98;zoom:0.4"><div style="display:inline-flex;gap:20px;padding:20px">`)
			for i, s := range surroundings {
				path := fmt.Sprintf("/%s/%d", name, i)
				pages.add(path, s.leave(page))
				fmt.Fprintf(&sheet, `<div style="width:%[1]dpx;height:1500px;overflow:hidden"><iframe title="%[2]s" src="%[3]s" `+
					`style="width:%[1]dpx;height:9000px;border:0;margin-top:-%[4]dpx" scrolling="no"></iframe></div>`,
					s.width, html.EscapeString(s.name), path, top)
				b.Open(pages.URL + path)
				for _, width := range []int64{int64(max(s.width, 360)), 600, 1280} {
					if over := b.Overflow(width); over > 0 && width >= int64(s.width) {
						t.Errorf("%s, %s, %d pixels wide: it stands out by %g", name, s.name, width, over)
					}
				}
			}
			pages.pages["/"+name] = sheet.String() + "</div>"
			if dir := os.Getenv("GALLERY"); dir != "" {
				b.Do(chromedp.EmulateViewport(1320, 620))
				b.Open(pages.URL + "/" + name)
				if err := os.WriteFile(filepath.Join(dir, name+".jpg"), b.Picture(50), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
