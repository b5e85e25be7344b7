package console

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var actionLiteral = regexp.MustCompile(`"((?:[a-z]+(?:-[a-z]+)?)\.[a-z_.-]*)"`)

// TestEveryActionIsASentence checks that each action that the store writes to the audit log has a sentence.
func TestEveryActionIsASentence(t *testing.T) {
	nouns := map[string]bool{}
	for action := range auditSentences {
		noun, _, _ := strings.Cut(action, ".")
		nouns[noun] = true
	}
	events := []string{"subscription.activated", "subscription.unsubscribed"}
	found := 0
	var files []string
	for _, pattern := range []string{"../../store/*.go", "../../store/*/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range actionLiteral.FindAllStringSubmatch(string(source), -1) {
			noun, _, _ := strings.Cut(m[1], ".")
			if strings.HasSuffix(name, "media.go") && noun == "mail" { // names of columns, not actions
				continue
			}
			if !nouns[noun] || slices.Contains(events, m[1]) {
				continue
			}
			found++
			if auditSentences[m[1]] == "" {
				t.Errorf("%s: %s has no sentence", name, m[1])
			}
		}
	}
	if found < 60 {
		t.Errorf("found %d actions only", found)
	}
}
