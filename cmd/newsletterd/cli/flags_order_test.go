package cli

import (
	"io"
	"strings"
	"testing"
)

// TestFlagsStandAnywhere checks that flags work before the command, and before and after its file.
func TestFlagsStandAnywhere(t *testing.T) {
	for given, want := range map[string]string{
		"publish issue.md --list Weekly":                           "publish --list Weekly issue.md",
		"publish --list Weekly issue.md --draft":                   "publish --list Weekly --draft issue.md",
		"--config F publish issue.md --list Weekly":                "--config F publish --list Weekly issue.md",
		"--config=F --json publish issue.md --draft --list Weekly": "--config=F --json publish --draft --list Weekly issue.md",
		"publish issue.md --config F -- --list":                    "publish --config F -- issue.md --list",
		"publish - --list Weekly":                                  "publish --list Weekly -",
		"admin --json list list --tenant Acme":                     "admin --json list list --tenant Acme",
		"admin --config list list show --id X more --json":         "admin --config list list show --id X --json more",
		"nothing --config F":                                       "nothing --config F",
		"--version":                                                "--version",
		"publish issue.md --lsit Weekly":                           "publish --lsit issue.md Weekly",
	} {
		p := Program{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
		app := p.Tree(&App{Commands: []*Command{
			{Name: "publish", ArgsUsage: "FILE", Flags: []Flag{String("list", ""), Bool("draft", "")}},
			{Name: "admin", Subcommands: []*Command{
				{Name: "list", Subcommands: []*Command{
					{Name: "list", Flags: []Flag{String("tenant", "")}},
					{Name: "show", Flags: []Flag{String("id", "")}},
				}},
			}},
		}}, nil)
		if got := inOrder(app, append([]string{"newsletterd"}, strings.Fields(given)...)); strings.Join(got[1:],
			" ") != want {
			t.Errorf("%s\n got %s\nwant %s", given, strings.Join(got[1:], " "), want)
		}
	}
}
