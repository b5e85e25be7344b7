package notice

import (
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/mail/internal/words"
)

// TestUnnamedService: a service without a name is called one in the language of the mail.
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
