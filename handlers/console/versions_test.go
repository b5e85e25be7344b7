package console

import (
	"strings"
	"testing"
)

// What an inbox shows of a mail is the text at its beginning, without what only programs read.
func TestBeginningOf(t *testing.T) {
	for _, c := range []struct{ page, text, want string }{
		{"", "Hello\n\nthere", "Hello there"},
		{`<head><title>T</title><style>a{}</style></head><body><p>A &amp; b</p><script>x</script><p>c</p></body>`, "", "A & b c"},
		{`<div>Preview</div><div>&#8204;&#160;&#8204;&#160;</div><p>Text</p>`, "", "Preview"},
		{`<p>` + strings.Repeat("ä", 200) + `</p>`, "", strings.Repeat("ä", maxBeginning) + "…"},
		{"<p", "", ""},
	} {
		if got := beginningOf(c.page, c.text); got != c.want {
			t.Errorf("%s: %q, not %q", c.page, got, c.want)
		}
	}
}

// A mail without pictures asks for none.
func TestWithoutPictures(t *testing.T) {
	got := withoutPictures(`<img alt="A" src="https://a/b.png"><td background="https://a/c.png" style="background:url(https://a/d.png)">` +
		`<a href="https://a/e.png">x</a>`)
	if strings.Contains(got, " src=") || strings.Contains(got, " background=") || strings.Contains(got, "url(") ||
		!strings.Contains(got, `href="https://a/e.png"`) || !strings.Contains(got, `alt="A"`) {
		t.Error(got)
	}
}
