package console

import (
	"strings"
	"testing"

	"newsletterd/core"
)

// TestSampleTextIsFound checks that the sample texts of each design are recognized, and an author's own texts are not.
func TestSampleTextIsFound(t *testing.T) {
	for _, lang := range core.Languages[:2] {
		for _, name := range []string{"letter", "story", "digest", "columns", "event", "offer"} {
			text, err := designFiles.ReadFile("designs/" + lang + "/" + name + ".md")
			if err != nil {
				t.Fatal(err)
			}
			if sampleIn(core.CampaignContent{Source: string(text)}) == "" {
				t.Errorf("no sample text in the design %s/%s", lang, name)
			}
		}
	}
	for line, want := range map[string]string{
		"# Our news\n\nA few lines about it.\n":              "A few lines about it.",
		"**When:** Saturday, 12 December, 10:00":             "When: Saturday, 12 December, 10:00",
		"# Several topics\n\n[See the offer](){.button}\n":   "",
		"Dear {{ preferences.first_name }}, here is ours.\n": "",
		"Warm regards\n": "",
	} {
		if got := sampleIn(core.CampaignContent{Source: line}); got != want {
			t.Errorf("sampleIn(%q) = %q, want %q", line, got, want)
		}
	}
	for _, line := range samples() {
		if strings.HasPrefix(line, "#") {
			t.Errorf("the heading %q counts as sample text", line)
		}
	}
}
