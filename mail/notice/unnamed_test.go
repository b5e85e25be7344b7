package notice

import (
	"strings"
	"testing"

	"newsletterd/core"
)

// TestUnnamedService checks that emails of a server without a name contain its host instead.
func TestUnnamedService(t *testing.T) {
	for _, language := range core.Languages {
		subject, text, page, err := Reset.Render(Data{
			Language: language, To: "ann@example.org",
			URL: "https://news.test/x",
		})
		for _, part := range []string{subject, text, page} {
			if err != nil || !strings.Contains(strings.ReplaceAll(part, "https://news.test", ""), "news.test") {
				t.Errorf("%s: %s, %v", language, part, err)
			}
		}
	}
}
