package drafts

import (
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/exports"
)

// Markdown of another tool becomes clean HTML. Its placeholders are text, whatever they contain.
func TestPostBody(t *testing.T) {
	for source, want := range map[string]string{
		"## Wheels\n\nA *b* <em onclick=\"x()\">c</em>": "<h2>Wheels</h2>\n<p>A <em>b</em> <em>c</em></p>",
		"<script>x()</script>\n\n<p style='x'>A</p>":    "<p>A</p>",
		"[a](javascript:x) ![b](https://e.org/b.png)":   `<p>a <img src="https://e.org/b.png" alt="b"/></p>`,
		"Dear {{ subscriber.email }}, {% if x %}\n\n`{{a}}`": "" +
			"<p>Dear {{ subscriber.email }}, {% if x %}</p>\n<p><code>{{a}}</code></p>",
		"{% endfor %}":                          "<p>{% endfor %}</p>",
		"\ue000\ue000 a }}":                     "<p>a }}</p>",
		"<iframe src='https://e.org'></iframe>": `<p><a href="https://e.org" rel="noreferrer">▶ e.org</a></p>`,
		strings.Repeat("> ", 2000) + "a":        "",
	} {
		got := postBody(&exports.Post{HTML: source, Markdown: true, ImportedPost: core.ImportedPost{Title: "Title"}})
		if got != want {
			t.Errorf("%.60q:\n got %q\nwant %q", source, got, want)
		}
	}
	if got := postBody(&exports.Post{HTML: "**a**<b>b</b>"}); got != "**a**<b>b</b>" {
		t.Errorf("HTML: %q", got)
	}
}
