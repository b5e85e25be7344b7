package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
)

// TestGuides runs the commands that the guides show, as a reader would copy them: all blocks marked sh, in one shell,
// from top to bottom, next to a daemon on the defaults. An HTTP status of 400 and above ends the shell with an error.
func TestGuides(t *testing.T) {
	daemontest.Parallel(t)
	for _, tool := range []string{"bash", "curl", "jq", "openssl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the guides need %s, which isn't installed here", tool)
		}
	}
	for _, guide := range []string{
		"quick-start.md", "writing.md", "api.md", "tenant.md", "backup.md", "configuration.md", "mail.md", "import.md",
		"oidc.md",
	} {
		t.Run(guide, func(t *testing.T) {
			daemontest.Parallel(t)
			text, err := os.ReadFile(filepath.Join("../../docs", guide))
			if err != nil {
				t.Fatal(err)
			}
			script := commandsOf(string(text))
			if strings.Count(script, "\n") == 0 {
				t.Fatalf("only these commands were found:\n%s", script)
			}
			runGuide(t, script)
		})
	}
}

// commandsOf are the lines of a Markdown text's blocks marked sh.
func commandsOf(text string) string {
	var script strings.Builder
	within := false
	for line := range strings.Lines(text) {
		switch strings.TrimSpace(line) {
		case "```sh":
			within = true
		case "```":
			within = false
		default:
			if within {
				script.WriteString(line)
			}
		}
	}
	return script.String()
}

// runGuide runs commands next to a daemon; both have these variables of the environment.
func runGuide(t *testing.T, script string, env ...string) {
	dir, addr := t.TempDir(), daemontest.FreeAddr(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(exe, filepath.Join(dir, "newsletterd")); err != nil {
		t.Fatal(err)
	}
	environment := append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "NEWSLETTERD_SERVER_LISTEN="+addr,
		"NEWSLETTERD_METRICS_LISTEN=", "NEWSLETTERD_MAIL_DNS_SERVER="+daemontest.DNS(t, nil))
	environment = append(environment, env...)
	daemon := exec.Command(filepath.Join(dir, "newsletterd"), "serve")
	daemon.Dir, daemon.Env = dir, environment
	said, err := daemon.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Signal(os.Interrupt)
		_ = daemon.Wait()
	})
	for log := bufio.NewReader(said); ; {
		line, err := log.ReadString('\n')
		if err != nil {
			t.Fatalf("the daemon didn't start: %v %s", err, line)
		}
		if strings.Contains(line, `"ready"`) {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			break
		}
	}
	prelude := "set -euo pipefail\ncurl() { command curl --fail-with-body -sS \"$@\"; }\n"
	shell := exec.Command("bash")
	shell.Dir, shell.Env = dir, environment
	shell.Stdin = strings.NewReader(prelude + strings.ReplaceAll(script, "127.0.0.1:8080", addr))
	var out bytes.Buffer
	shell.Stdout, shell.Stderr = &out, &out
	if err := shell.Run(); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestWebhooksGuide runs the commands of docs/webhooks.md with the list of the quick start, and a receiver in place of
// the one that the guide names.
func TestWebhooksGuide(t *testing.T) {
	daemontest.Parallel(t)
	text, err := os.ReadFile("../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
	}))
	defer receiver.Close()
	runGuide(t, `printf '%s\n' "a long password" | newsletterd admin user create --email you@example.org --role operator --password-stdin
TENANT=$(newsletterd admin tenant create --name Acme --json | jq -r .id)
LIST=$(newsletterd admin list create --tenant $TENANT --name "Monthly news" --json | jq -r .id)
TOKEN=$(newsletterd admin token create --user you@example.org)
`+strings.ReplaceAll(commandsOf(string(text)), "https://crm.example.org", receiver.URL),
		"NEWSLETTERD_WEBHOOKS_ALLOW="+receiver.Listener.Addr().String())
	select {
	case body := <-got:
		if !strings.Contains(body, `"webhook.test"`) {
			t.Errorf("the receiver got %s", body)
		}
	default:
		t.Error("the receiver got no event")
	}
}

// TestAvailabilityGuide runs the commands of docs/availability.md next to a daemon with a replica in a folder.
func TestAvailabilityGuide(t *testing.T) {
	daemontest.Parallel(t)
	text, err := os.ReadFile("../../docs/availability.md")
	if err != nil {
		t.Fatal(err)
	}
	script, at := commandsOf(string(text)), "2026-11-23T18:00:00Z"
	if !strings.Contains(script, "replica restore --to yesterday.db --at "+at) {
		t.Fatalf("only these commands were found:\n%s", script)
	}
	runGuide(t, strings.ReplaceAll(script, at, time.Now().UTC().Add(time.Hour).Format(time.RFC3339)),
		"NEWSLETTERD_REPLICA_URL=file://"+t.TempDir())
}

var (
	link    = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
	anchor  = regexp.MustCompile(`\]\(([^)#:\s]*)#([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	noSlug  = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// TestLinksOfGuides checks that each file, and each section, that README and the guides link to exists.
func TestLinksOfGuides(t *testing.T) {
	guides, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(guides) == 0 {
		t.Fatal(guides, err)
	}
	for _, guide := range append(guides, "../../README.md") {
		text, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(guide), found[1])); err != nil {
				t.Errorf("%s links to %s: %v", guide, found[1], err)
			}
		}
		for _, found := range anchor.FindAllStringSubmatch(string(text), -1) {
			target := guide
			if found[1] != "" {
				target = filepath.Join(filepath.Dir(guide), found[1])
			}
			if !slices.Contains(sectionsOf(t, target), found[2]) {
				t.Errorf("%s links to %s#%s: there is no such section", guide, found[1], found[2])
			}
		}
	}
}

// sectionsOf returns the anchors of the headings in a Markdown file, as GitHub makes them.
func sectionsOf(t *testing.T, file string) (anchors []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range heading.FindAllSubmatch(fenced.ReplaceAll(text, nil), -1) {
		anchors = append(anchors, strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(string(found[1])), ""), " ", "-"))
	}
	return anchors
}

// TestIndexOfDecisions checks that the index lists each decision record in one area, and nothing that does not exist.
func TestIndexOfDecisions(t *testing.T) {
	text, err := os.ReadFile("../../docs/decisions/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, areas, ok := strings.Cut(string(text), "\n## Start here\n")
	_, areas, ok2 := strings.Cut(areas, "\n## ")
	if !ok || !ok2 {
		t.Fatal("the index has no section \"Start here\" before its areas")
	}
	listed := map[string]int{}
	for _, found := range link.FindAllStringSubmatch(areas, -1) {
		listed[found[1]]++
	}
	records, err := filepath.Glob("../../docs/decisions/[0-9]*.md")
	if err != nil || len(records) == 0 {
		t.Fatal(records, err)
	}
	for _, record := range records {
		if n := listed[filepath.Base(record)]; n != 1 {
			t.Errorf("docs/decisions/README.md lists %s in %d areas, not in one", filepath.Base(record), n)
		}
		delete(listed, filepath.Base(record))
	}
	for name := range listed {
		t.Errorf("docs/decisions/README.md links to %s, which does not exist", name)
	}
}
