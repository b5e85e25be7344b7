package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/handlers"
)

// helpWidth is the maximum number of columns in a help text.
const helpWidth = 80

// homelyHelp matches words that users don't understand immediately, or that refer to the repository.
var homelyHelp = regexp.MustCompile(`(?i)docs/|\b(readers?|mails|mailings?|pictures?|switch(ed)? (it )?(off|on)|put away|` +
	`tak(e|en) back|came back|who has|of whom|at once|once more|all the same|by itself|by hand|mends|mended|goes out|` +
	`going out|receivers? of events|audit trail|what became|e-mail)\b`)

// helpFaults returns the problems in the help of a command and its subcommands. Examples, indented by three columns,
// can have any width.
func helpFaults(full string, data any, usage string, below []*cli.Command) (faults []string) {
	var b bytes.Buffer
	cli.PrintHelp(&b, "", data)
	fault := func(format string, args ...any) {
		faults = append(faults, full+": "+fmt.Sprintf(format, args...))
	}
	if usage == "" || strings.HasSuffix(usage, ".") || strings.ToLower(usage[:1]) != usage[:1] {
		fault("%q: write an imperative in lower case, without a full stop", usage)
	}
	for line := range strings.SplitSeq(b.String(), "\n") {
		if strings.HasPrefix(line, "   newsletterd ") {
			continue
		}
		if found := homelyHelp.FindString(line); found != "" {
			fault("%q in %s", found, line)
		}
		if !strings.HasPrefix(line, "   ") && !strings.HasPrefix(line, "Usage: ") &&
			utf8.RuneCountInString(line) > helpWidth &&
			strings.Contains(strings.TrimSpace(line), " ") {
			fault("a line is wider than %d columns: %s", helpWidth, line)
		}
	}
	for _, c := range below {
		name := full + " " + c.Name
		c.HelpName = name
		faults = append(faults, helpFaults(name, c, c.Usage, c.Subcommands)...)
	}
	return faults
}

// TestHelpReadsPlainly checks that the help of every command uses the words of the interface, fits 80 columns and names
// no file of the repository. The program's help must fit a screen of 40 lines.
func TestHelpReadsPlainly(t *testing.T) {
	a := newProgram(nil, nil, nil, nil).app()
	for _, fault := range helpFaults(a.Name, a, a.Usage, a.Commands) {
		t.Error(fault)
	}
	var b bytes.Buffer
	cli.PrintHelp(&b, "", a)
	if n := strings.Count(b.String(), "\n"); n > 40 {
		t.Errorf("the help of the program has %d lines", n)
	}
	for _, c := range a.Commands {
		if !strings.Contains(b.String(), "\n  "+c.Name+" ") {
			t.Errorf("the help of the program lacks %s", c.Name)
		}
	}
	for _, broken := range []*cli.Command{
		{Name: "a", Usage: "show a", Description: "docs/a.md says more."},
		{Name: "b", Usage: "Shows a mail."},
		{Name: "c", Usage: "show c", Flags: []cli.Flag{cli.String("who", "only `READERS` who left")}},
		{Name: strings.Repeat("d", 20), Usage: "show d", Subcommands: []*cli.Command{{Name: "e", Usage: "e mends"}}},
	} {
		if helpFaults("x", broken, broken.Usage, broken.Subcommands) == nil {
			t.Errorf("the help of %s is taken for plain", broken.Name)
		}
	}
}

// TestSummariesReadPlainly checks that the summaries of the routes use the words of the interface. The command routes
// and the OpenAPI documents show them.
func TestSummariesReadPlainly(t *testing.T) {
	h, err := handlers.New(handlers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range h.Routes() {
		if found := homelyHelp.FindString(r.Summary); found != "" {
			t.Errorf("%s %s: %q in %s", r.Method, r.Path, found, r.Summary)
		}
	}
}
