package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var label = regexp.MustCompile(`\*\*([^*]+)\*\*`)

// TestQuickStartNamesLabels checks that each label in the quick start exists in the texts of the console and the pages.
// If a label is renamed, the quick start has to change, too.
func TestQuickStartNamesLabels(t *testing.T) {
	shown := map[string]bool{}
	add := func(file string, each func(key, value string)) {
		t.Helper()
		b, err := os.ReadFile(file)
		var words map[string]json.RawMessage
		if err == nil {
			err = json.Unmarshal(b, &words)
		}
		if err != nil {
			t.Fatal(file, err)
		}
		for key, raw := range words {
			var value string
			_ = json.Unmarshal(raw, &value) // other values are plurals
			each(key, value)
		}
	}
	console, err := filepath.Glob("../../handlers/console/words/de/*.json")
	if err != nil || len(console) == 0 {
		t.Fatal(console, err)
	}
	for _, file := range console {
		add(file, func(key, _ string) { // the English text is the key, with both plural forms
			for form := range strings.SplitSeq(key, "|") {
				shown[form] = true
			}
		})
	}
	add("../../handlers/page/pages/words/en.json", func(_, value string) { shown[value] = true })
	labels := label.FindAllStringSubmatch(fenced.ReplaceAllString(guide(t, "quick-start.md"), ""), -1)
	if len(labels) < 15 {
		t.Errorf("the quick start names only %d labels", len(labels))
	}
	for _, l := range labels {
		if !shown[l[1]] {
			t.Errorf("docs/quick-start.md names the label %q, which neither the console nor a page shows", l[1])
		}
	}
}
