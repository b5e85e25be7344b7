package console

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
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

// A role that people give themselves is not described as a gift from one person to another.
func TestRoleForOneself(t *testing.T) {
	p := Page{Lang: "de"}
	for object, want := range map[string]string{
		"1": "Ann ist dem Team beigetreten.", "2": "Ann hat Bob eine Rolle gegeben.",
	} {
		e := core.AuditEntry{
			Action: "role.grant.tenant_admin", Actor: "user:1", ActorName: "Ann", Object: object, ObjectName: "Bob",
		}
		got := ""
		for _, part := range p.auditSentence(&e) {
			got += part.Text
		}
		if got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
