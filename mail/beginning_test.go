package mail

import (
	"strings"
	"testing"
)

// TestBeginning checks that an inbox shows the first visible text of an email.
func TestBeginning(t *testing.T) {
	for _, c := range []struct{ page, text, want string }{
		{"", "Hello\n\nthere", "Hello there"},
		{
			`<head><title>T</title><style>a{}</style></head><body><p>A &amp; b</p><script>x</script><p>c</p></body>`, "",
			"A & b c",
		},
		{`<div>Preview</div><div>&#8204;&#160;&#8204;&#160;</div><p>Text</p>`, "", "Preview"},
		{`<p>` + strings.Repeat("ä", 200) + `</p>`, "", strings.Repeat("ä", maxBeginning) + "…"},
		{"<p", "", ""},
	} {
		if got := Beginning(c.page, c.text); got != c.want {
			t.Errorf("%s: %q, not %q", c.page, got, c.want)
		}
	}
}
