package article

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Footnotes of old posts still work. What needs the old tool is left out, but not the author's own buttons.
func TestOldPosts(t *testing.T) {
	button := func(address string) string {
		return `<p class="button-wrapper" data-attrs="{}"><a class="button primary" href="` + address + `">B</a></p>`
	}
	const note = ` rel="noreferrer">1</a>`
	for page, want := range map[string]string{
		`<p>A<a id="footnote-anchor-1" href="#footnote-1">1</a></p><div><a id="footnote-1" href="#footnote-anchor-1">1` +
			`</a><p>Note</p></div>`: `<p>A<a href="#text-footnote-1" id="text-footnote-anchor-1"` + note + `</p><div>` +
			`<a href="#text-footnote-anchor-1" id="text-footnote-1"` + note + `<p>Note</p></div>`,
		`<a href="#fn%3A1">1</a><p id="fn:1">A</p><p id="fn:1">B</p>`: `<a href="#text-fn:1"` + note +
			`<p id="text-fn:1">A</p><p>B</p>`,
		`<a href="#gone">A</a><p id="a b" class="x">B</p>`:                `<a>A</a><p>B</p>`,
		`A<div class="subscription-widget-wrap"><p>Thanks!</p></div>B`:    `AB`,
		`<div><div class="kg-card kg-signup-card"><h2>A</h2></div></div>`: ``,
		button("https://a.substack.com/subscribe?") + `A`:                 `A`,
		button("%%checkout_url%%") + `A`:                                  `A`,
		button("https://a.substack.com/p/x?action=share") + `A`:           `A`,
		button("https://a.substack.com/p/x/comments") + `A`:               `A`,
		button("https://shop.example/"):                                   `<p><a href="https://shop.example/" rel="noreferrer">B</a></p>`,
		button("https://podcast.example/subscribe"): `<p><a href="https://podcast.example/subscribe" rel="noreferrer">` +
			`B</a></p>`,
		button("/subscribe") + button("HTTPS://A.Substack.com/subscribe") + `A`:                                     `A`,
		`<div class="captioned-button-wrap"><p>Share it</p>` + button("https://a.example/?action=share") + `</div>`: ``,
		`<div class="kg-card kg-button-card"><a href="#/portal/signup">A</a></div>B`:                                `B`,
		`<div class="kg-card kg-button-card"><a href="/shop/">A</a></div>`: `<div><a href="/shop/" rel="noreferrer">A` +
			`</a></div>`,
	} {
		if got, err := OldPost(page); err != nil || got != want {
			t.Errorf("%s\n got %s\nwant %s, %v", page, got, want, err)
		}
	}
	if _, err := OldPost(strings.Repeat("<div>", 600)); err == nil {
		t.Error("no error for a deep page")
	}
}

// TestLinksAreJudgedOnce checks that a link is judged once however many buttons it is in, and not at all outside.
func TestLinksAreJudgedOnce(t *testing.T) {
	const link, links = `<a href="/subscribe">x</a>`, 100
	body, err := parse(strings.Repeat(`<div class="button-wrapper">`, 400) + strings.Repeat(link, links) +
		strings.Repeat("</div>", 400) + strings.Repeat(link, links))
	if err != nil {
		t.Fatal(err)
	}
	judged, out := 0, map[*html.Node]bool{}
	findSignups(body, false, func(address string) bool { judged++; return needsOldTool(address) }, out)
	if judged != links || !out[body.FirstChild] {
		t.Errorf("%d of %d links judged, left out: %t", judged, links, out[body.FirstChild])
	}
}
