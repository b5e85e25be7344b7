package notice

import (
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/mail/internal/words"
)

// TestUnnamedService checks that a service without a name has a generic name in the language of the email.
func TestUnnamedService(t *testing.T) {
	for _, language := range core.Languages {
		subject, text, page, err := Reset.Render(Data{
			Language: language, To: "ann@example.org",
			URL: "https://news.test/x",
		})
		all := subject + text + page
		if err != nil || !strings.Contains(all, words.Of(language).Service) || language != "en" &&
			strings.Contains(all, "our newsletter") {
			t.Errorf("%s: %s, %v", language, all, err)
		}
	}
}
