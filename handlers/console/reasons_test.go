package console

import (
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/page"
)

// The console shows each reason for unsubscribing in the words that the subscriber chose.
func TestReasonsInTheWordsOfTheUnsubscribePage(t *testing.T) {
	for _, lang := range core.Languages {
		p := &Page{Lang: lang}
		for _, r := range page.AllWords()[lang].Reasons() {
			if got := p.Reason(r.Word); got != r.Text {
				t.Errorf("%s: %q, want %q", lang, got, r.Text)
			}
		}
	}
}
