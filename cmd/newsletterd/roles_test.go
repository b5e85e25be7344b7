package main

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/handlers"
)

var update = flag.Bool("update", false, "rewrite the tables of rights in docs/roles.md, and testdata/transcripts")

// TestGoldenRoles compares the tables in docs/roles.md with the table in core, and with the routes.
func TestGoldenRoles(t *testing.T) {
	const file = "../../docs/roles.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for name, table := range map[string]string{"roles": tableOfRoles(), "routes": tableOfRoutes(t)} {
		begin, end := "<!-- "+name+": written by make golden -->\n", "<!-- end of "+name+" -->"
		head, rest, ok := strings.Cut(want, begin)
		_, tail, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no place for the table of %s", file, name)
		}
		want = head + begin + table + end + tail
	}
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("the tables in %s differ from the code; run `make golden` and review the difference", file)
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tableOfRoles returns core.Permissions as Markdown.
func tableOfRoles() string {
	mark := map[bool]string{true: " x |", false: " |"}
	var table strings.Builder
	table.WriteString("| action | " + strings.Join(core.Roles, " | ") + " | client | scopes | allows you to |\n")
	table.WriteString(strings.Repeat("|---", len(core.Roles)+4) + "|\n")
	for _, p := range core.Permissions {
		table.WriteString("| `" + string(p.Action) + "` |")
		for _, role := range core.Roles {
			table.WriteString(mark[p.Allows(role)])
		}
		text := p.Text
		if p.Action.AsksProof(false) {
			text += " (needs a fresh sign-in)"
		}
		table.WriteString(mark[p.AllowsClients()] + " `" + strings.Join(p.Scopes, "` `") + "` | " + text + " |\n")
	}
	return table.String()
}

// tableOfRoutes returns the routes that take tokens as Markdown. Those with the same action and scopes share a row,
// in the order of core.Permissions; those without an action come last. A token needs one of the scopes.
func tableOfRoutes(t *testing.T) string {
	h, err := handlers.New(handlers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[core.Action][]string{} // heads of rows, in the order of their first route
	routes := map[string][]string{}    // by the head of their row
	for _, r := range h.Routes() {
		info := r.Info()
		if !info.NeedsToken {
			continue
		}
		scopes := slices.Clone(info.Scopes)
		head := "| | | |"
		if p, ok := core.PermissionFor(info.Action); ok {
			client := ""
			if p.AllowsClients() {
				client = " x"
			}
			head = "| `" + string(p.Action) + "` | " + p.Least + " |" + client + " |"
			scopes = slices.DeleteFunc(scopes, func(s string) bool { return !slices.Contains(p.Scopes, s) })
		}
		for _, scope := range scopes {
			head += " `" + scope + "`"
		}
		if routes[head] == nil {
			rows[info.Action] = append(rows[info.Action], head)
		}
		routes[head] = append(routes[head], "`"+r.Method+" "+r.Path+"`")
	}
	var table strings.Builder
	table.WriteString("| action | least role | client | scopes | routes |\n|---|---|---|---|---|\n")
	write := func(a core.Action) {
		for _, head := range rows[a] {
			table.WriteString(head + " | " + strings.Join(routes[head], "<br>") + " |\n")
		}
		delete(rows, a)
	}
	for _, p := range core.Permissions {
		write(p.Action)
	}
	for _, a := range slices.Sorted(maps.Keys(rows)) {
		write(a)
	}
	return table.String()
}
