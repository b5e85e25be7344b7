package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/handlers"
)

// TestEachCommandHasAnOperation checks that docs/reference.md names an existing operation for each command of admin and
// each command about the daemon, or says why there is none.
func TestEachCommandHasAnOperation(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "| command | operation | remark |\n")
	if !ok {
		t.Fatal("docs/reference.md has no table of commands")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	h, err := handlers.New(handlers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	operations := map[string]bool{}
	for _, r := range h.Routes() {
		operations[r.Method+" "+r.Path] = true
	}
	told := map[string]bool{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.HasPrefix(line, "|---") {
			continue
		}
		command, operation := strings.Trim(cells[1], " `"), strings.Trim(cells[2], " `")
		told[command] = true
		switch {
		case operation == "" && strings.TrimSpace(cells[3]) == "":
			t.Errorf("%s has neither an operation nor a reason", command)
		case operation != "" && !operations[operation]:
			t.Errorf("%s: there is no operation %s", command, operation)
		}
	}
	var names []string
	var walk func(prefix string, commands []*cli.Command)
	walk = func(prefix string, commands []*cli.Command) {
		for _, c := range commands {
			if len(c.Subcommands) > 0 {
				walk(prefix+c.Name+" ", c.Subcommands)
			} else if c.Name != "help" {
				names = append(names, prefix+c.Name)
			}
		}
	}
	for _, c := range newProgram(nil, io.Discard, io.Discard, nil).app().Commands {
		switch c.Name {
		case "admin":
			walk("", c.Subcommands)
		case "keys", "status", "doctor":
			walk("", []*cli.Command{c})
		}
	}
	for _, name := range names {
		if !told[name] {
			t.Errorf("docs/reference.md names no operation for %s, and no reason why there is none", name)
		}
	}
	for name := range told {
		if !slices.Contains(names, name) {
			t.Errorf("docs/reference.md names the command %s, which there is not", name)
		}
	}
	if len(names) < 99 {
		t.Errorf("only %d commands were found", len(names))
	}
}
