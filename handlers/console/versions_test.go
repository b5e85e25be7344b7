package console

import (
	"strings"
	"testing"
)

// An email without images requests none.
func TestWithoutPictures(t *testing.T) {
	got := withoutPictures(`<img alt="A" src="https://a/b.png"><td background="https://a/c.png" style="background:url(https://a/d.png)">` +
		`<a href="https://a/e.png">x</a>`)
	if strings.Contains(got, " src=") || strings.Contains(got, " background=") || strings.Contains(got, "url(") ||
		!strings.Contains(got, `href="https://a/e.png"`) || !strings.Contains(got, `alt="A"`) {
		t.Error(got)
	}
}
