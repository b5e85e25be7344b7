package exports

import (
	"strings"
	"testing"
)

// Front matter is read in linear time, and values have a maximum size.
func TestLongFrontMatter(t *testing.T) {
	text := "---\nsubject: >-\n" + strings.Repeat(" a\n", 60_000) + "slug: '" + strings.Repeat("b", 5000) +
		"'\nstatus: >\n  sent\n\n---\nText"
	values, body, _ := matterOf(text)
	if len(values["subject"]) != maxMatter || len(values["slug"]) != maxMatter || values["status"] != "sent" ||
		body != "Text" {
		t.Errorf("subject: %d bytes, slug: %d bytes, status %q, body: %d bytes",
			len(values["subject"]), len(values["slug"]), values["status"], len(body))
	}
	if n := testing.AllocsPerRun(1, func() { matterOf(text) }); n > 200 {
		t.Errorf("%v allocations", n)
	}
}
