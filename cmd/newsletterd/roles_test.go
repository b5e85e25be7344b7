package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"newsletterd/core"
)

var update = flag.Bool("update", false, "rewrite the table of roles in docs/security.md")

// TestGoldenRoles holds the table of docs/security.md to the one in core.
func TestGoldenRoles(t *testing.T) {
	const file = "../../docs/security.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- roles: written by make golden -->\n", "<!-- end of roles -->"
	head, rest, ok := strings.Cut(string(text), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", file)
	}
	want := head + begin + rolesTable() + end + tail
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("the roles in %s differ from core.Permissions; run `make golden` and review the difference", file)
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// rolesTable writes core.Permissions as Markdown.
func rolesTable() string {
	var b strings.Builder
	b.WriteString("| action | " + strings.Join(core.Roles, " | ") + " | client | scopes | lets |\n")
	b.WriteString(strings.Repeat("|---", len(core.Roles)+4) + "|\n")
	for _, p := range core.Permissions {
		b.WriteString("| `" + string(p.Action) + "` |")
		for _, role := range core.Roles {
			b.WriteString(mark(p.Allows(role)))
		}
		b.WriteString(mark(p.AllowsClients()) + " `" + strings.Join(p.Scopes, "` `") + "` | " + p.Text + " |\n")
	}
	return b.String()
}

func mark(yes bool) string {
	if yes {
		return " x |"
	}
	return " |"
}
