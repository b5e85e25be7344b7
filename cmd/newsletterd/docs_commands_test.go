package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notRun lists the commands in README and docs that no test runs, by their first words, with the reasons.
var notRun = map[string]string{
	"sudo ":                       "needs root, and partly a package manager and systemd",
	"docker ":                     "needs Docker",
	"make ":                       "builds the program, or runs the tests",
	"newsletterd serve":           "runs until it is stopped; runGuide starts it in the same way",
	"./newsletterd serve":         "the same",
	"mkdir trial && cd trial":     "runGuide runs developers.md in an empty folder",
	"NEWSLETTERD_WEBHOOKS_ALLOW=": "runGuide starts the daemon with this variable",
	"NEWSLETTERD_MAIL_SMTP_PASSWORD=… newsletterd init ": "needs a mail server on another machine",
	"git worktree add /tmp/old ":                         "builds an old version, to compare with it",
	"(cd /tmp/old && ":                                   "the same",
	"NEWSLETTERD_FIGURES=100000 ":                        "measures for up to two hours",
}

// noCommands are the languages of blocks without commands.
var noCommands = []string{
	"apache", "caddy", "html", "ini", "js", "json", "markdown", "nginx", "python", "text", "toml", "yaml",
}

// block matches a code block of a Markdown page: its language and its text.
var block = regexp.MustCompile("(?ms)^ *```([^\n]*)\n(.*?)^ *```$")

// TestEveryCommandOfTheGuidesIsRun checks that a test runs each command in README and docs, or that notRun has the
// reason. A block without a language counts as commands.
func TestEveryCommandOfTheGuidesIsRun(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	run := pagesRun(t)
	used := map[string]bool{}
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range block.FindAllStringSubmatch(string(text), -1) {
			language := found[1]
			if slices.Contains(noCommands, language) || language == "sh" && run[page] ||
				language == "console" && page == operationGuide {
				continue
			}
			for command := range strings.Lines(strings.ReplaceAll(found[2], "\\\n", "")) {
				if !excepted(command, used) {
					t.Errorf("%s: no test runs %q. Mark the block sh on a page that a test runs, or text if it has no "+
						"commands. If it can't run, add the reason to notRun", page, strings.TrimSpace(command))
					break
				}
			}
		}
	}
	for start := range notRun {
		if !used[start] {
			t.Errorf("notRun has %q, which is on no page", start)
		}
	}
}

// excepted reports whether a line is empty, a comment, or a command in notRun, whose entry it marks as used.
func excepted(command string, used map[string]bool) bool {
	if command = strings.TrimSpace(command); command == "" || command[0] == '#' {
		return true
	}
	for start := range notRun {
		if strings.HasPrefix(strings.TrimPrefix(command, "$ "), start) {
			used[start] = true
			return true
		}
	}
	return false
}

// pagesRun returns the paths of the pages whose blocks marked sh a test runs: those in the lists of TestGuides and
// TestMovingGuides, and those that a test passes to commandsIn.
func pagesRun(t *testing.T) map[string]bool {
	t.Helper()
	run := map[string]bool{}
	for _, name := range slices.Concat(guides, apiGuides, continued) {
		run[filepath.Join("../../docs", name)] = true
	}
	for name := range moved {
		run[filepath.Join("../../docs", name)] = true
	}
	tests, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range tests {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`commandsIn\(t, "([^"]+)"\)`).FindAllSubmatch(code, -1) {
			run[filepath.Join("../../docs", string(found[1]))] = true
		}
	}
	return run
}
