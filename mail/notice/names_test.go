package notice

import (
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/mail/internal/words"
)

// TestNamesWithFullStop checks that a sentence that ends with a name such as "e. V." has one full stop, not two.
func TestNamesWithFullStop(t *testing.T) {
	for _, language := range core.Languages {
		for kind := range words.Of(language).Notices {
			d := Data{
				To: "ann@example.org", URL: "https://news.test/x", Valid: time.Hour, Language: language,
				List: "Garden Inc.", Brand: Brand{Name: "Sonnenhang e. V."},
			}
			d.Client.Name, d.Client.By = "Shop Ltd.", "Ann S."
			subject, text, page, err := Kind(kind).Render(d)
			if all := subject + text + page; err != nil || strings.Contains(all, "..") {
				t.Errorf("%s %s: %s, %v", language, kind, all, err)
			}
		}
	}
}
