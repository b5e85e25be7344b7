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
	mark := map[bool]string{true: " x |", false: " |"}
	var table strings.Builder // core.Permissions as Markdown
	table.WriteString("| action | " + strings.Join(core.Roles, " | ") + " | client | scopes | lets |\n")
	table.WriteString(strings.Repeat("|---", len(core.Roles)+4) + "|\n")
	for _, p := range core.Permissions {
		table.WriteString("| `" + string(p.Action) + "` |")
		for _, role := range core.Roles {
			table.WriteString(mark[p.Allows(role)])
		}
		text := p.Text
		if p.Action.AsksProof(false) {
			text += " (asks for a fresh sign-in)"
		}
		table.WriteString(mark[p.AllowsClients()] + " `" + strings.Join(p.Scopes, "` `") + "` | " + text + " |\n")
	}
	want := head + begin + table.String() + end + tail
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
