package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
)

// guides are the pages whose commands TestGuides runs. The guides to the API run after developers.md, in the same
// shell.
var (
	guides = []string{
		"quick-start.md", "tenant.md", "backup.md", "configuration.md", "import.md", "oidc.md",
	}
	continued = []string{"mail.md", "moving.md"} // with the tenant and the list of the quick start
	apiGuides = []string{
		"segments.md", "api-subscribers.md", "api-imports.md", "api-campaigns.md", "api-sending.md", "api-content.md",
		"api-apps.md",
		"api-devices.md", "api-server.md",
	}
)

// TestGuides runs the commands of the guides in the way in which a reader would copy them: all blocks marked sh, in one
// shell, from top to bottom, with a daemon on the defaults. An HTTP status of 400 or higher ends the shell with an
// error.
func TestGuides(t *testing.T) {
	daemontest.Parallel(t)
	tools(t, "bash", "curl", "jq", "openssl")
	_, terminal, _ := strings.Cut(guide(t, "developers.md"), "\n## 2. Get an API token\n")
	terminal, _, found := strings.Cut(terminal, "\n## ")
	if terminal = commandsOf(terminal); !found || !strings.Contains(terminal, "LIST=") {
		t.Fatalf("developers.md has no section that gets a token and a list:\n%s", terminal)
	}
	run := func(name, script, after string, needs ...string) {
		t.Run(name, func(t *testing.T) {
			daemontest.Parallel(t)
			tools(t, needs...)
			if strings.Count(script, "\n") == 0 {
				t.Fatalf("only these commands were found:\n%s", script)
			}
			runGuide(t, script+after)
		})
	}
	run("developers.md", commandsIn(t, "developers.md"), signIn, "python3")
	for _, name := range guides {
		run(name, commandsIn(t, name), "")
	}
	for _, name := range continued {
		run(name, quickStart(t)+commandsIn(t, name), "")
	}
	for _, name := range apiGuides {
		run(name, terminal+commandsIn(t, name), "")
	}
}

// signIn does what a browser does in step 7 of developers.md, with the app of its step 5.
const signIn = `
page() { command curl --fail-with-body -sS -L -b cookies -c cookies -H "Origin: http://127.0.0.1:8080" "$@"; }
field() { sed -n "s/.*name=\"$1\" value=\"\([^\"]*\)\".*/\1/p" "$2" | head -n 1 |
  python3 -c 'import html, sys; print(html.unescape(sys.stdin.read().strip()))'; }
page http://127.0.0.1:9000/login > login.html
page http://127.0.0.1:8080/login --data-urlencode "continue=$(field continue login.html)" -d email=you@example.org \
  --data-urlencode "password=a long password" > consent.html
page http://127.0.0.1:8080/consent --data-urlencode "request=$(field request consent.html)" \
  --data-urlencode "user=$(field user consent.html)" -d decision=allow > app.html
grep "Hello you@example.org" app.html || { cat app.html app.log; exit 1; }
grep "event: webhook.test" app.log
`

// tools skips a test if these programs are missing.
func tools(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("the guides need %s, which isn't installed here", name)
		}
	}
}

// guide returns the text of a page in docs.
func guide(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// commandsIn returns the commands of a page in docs. A test that calls it runs all of them.
func commandsIn(t *testing.T, name string) string {
	t.Helper()
	return commandsOf(guide(t, name))
}

// quickStart returns the commands of docs/quick-start.md that create a user, a tenant and a list.
func quickStart(t *testing.T) string {
	t.Helper()
	const last = "\nLIST="
	script, list, found := strings.Cut(commandsOf(guide(t, "quick-start.md")), last)
	if !found {
		t.Fatalf("docs/quick-start.md creates no list:\n%s", script)
	}
	list, _, _ = strings.Cut(list, "\n")
	return script + last + list + "\n"
}

// commandsOf returns the lines in the blocks marked sh of a Markdown text.
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

// runGuide runs commands with a daemon. Both have these environment variables.
func runGuide(t *testing.T, script string, env ...string) {
	dir, addr, app := t.TempDir(), daemontest.FreeAddr(t), daemontest.FreeAddr(t)
	environment := append(programIn(t, dir), "NEWSLETTERD_SERVER_LISTEN="+addr,
		"NEWSLETTERD_METRICS_LISTEN=", "NEWSLETTERD_MAIL_DNS_SERVER="+daemontest.DNS(t, nil),
		"NEWSLETTERD_WEBHOOKS_ALLOW="+app,
		"DISPLAY=", "WAYLAND_DISPLAY=", "TMPDIR="+dir) // --open opens no browser, and leaves no file
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
	const prelude = `set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
curl() { command curl --fail-with-body -sS "$@"; }
`
	_, port, _ := net.SplitHostPort(app)
	ctx := t.Context()
	if end, ok := t.Deadline(); ok { // show how far a guide got that hangs
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, end.Add(-5*time.Second))
		defer stop()
	}
	shell := exec.CommandContext(ctx, "bash")
	shell.WaitDelay = time.Second
	shell.Dir, shell.Env = dir, environment
	here := strings.NewReplacer("127.0.0.1:8080", addr, "127.0.0.1:9000", app, `"127.0.0.1", 9000`,
		`"127.0.0.1", `+port)
	shell.Stdin = strings.NewReader(prelude + here.Replace(script))
	var out bytes.Buffer
	shell.Stdout, shell.Stderr = &out, &out
	if err := shell.Run(); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestWebhooksGuide runs the commands of docs/webhooks.md with the list of the quick start, a local receiver instead of
// the one in the guide, and another database for the second server.
func TestWebhooksGuide(t *testing.T) {
	daemontest.Parallel(t)
	got := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
	}))
	defer receiver.Close()
	script := commandsIn(t, "webhooks.md")
	const first, after = "newsletterd admin tenant create --id", "newsletterd admin client create"
	before, second, found := strings.Cut(script, first)
	second, rest, found2 := strings.Cut(second, after)
	if !found || !found2 {
		t.Fatalf("no commands for the second server were found:\n%s", script)
	}
	script = before + "(export NEWSLETTERD_DATABASE_PATH=send.db\nnewsletterd migrate\n" + first + second + ")\n" +
		after + rest
	runGuide(t, quickStart(t)+"TOKEN=$(newsletterd admin token create --user you@example.org)\n"+
		strings.ReplaceAll(script, "https://crm.example.org", receiver.URL),
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

// TestAvailabilityGuide runs the commands of docs/availability.md with a daemon that has a replica in a folder.
func TestAvailabilityGuide(t *testing.T) {
	daemontest.Parallel(t)
	script, at := commandsIn(t, "availability.md"), "2026-11-23T18:00:00Z"
	if !strings.Contains(script, "replica restore --to yesterday.db --at "+at) {
		t.Fatalf("only these commands were found:\n%s", script)
	}
	runGuide(t, strings.ReplaceAll(script, at, time.Now().UTC().Add(time.Hour).Format(time.RFC3339)),
		"NEWSLETTERD_REPLICA_URL=file://"+t.TempDir())
}

var (
	link     = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
	deepLink = regexp.MustCompile(`\]\(([^)#:\s]*)#([^)\s]+)\)`)
	headline = regexp.MustCompile(`(?m)^#+ (.+)$`)
	unslug   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	fenced   = regexp.MustCompile("(?ms)^```.*?^```$")
)

// sections returns the anchors of a page's headings in the form that GitHub and GitLab use.
func sections(page string) map[string]bool {
	all := map[string]bool{}
	for _, h := range headline.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		all[strings.ReplaceAll(unslug.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	return all
}

// TestLinksOfGuides checks that README and the guides link only to files and sections that exist.
func TestLinksOfGuides(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), found[1])); err != nil {
				t.Errorf("%s links to %s: %v", page, found[1], err)
			}
		}
		for _, found := range deepLink.FindAllStringSubmatch(string(text), -1) {
			target := text
			if found[1] != "" {
				if target, err = os.ReadFile(filepath.Join(filepath.Dir(page), found[1])); err != nil {
					continue // reported above
				}
			}
			if strings.HasSuffix(found[1], ".md") || found[1] == "" {
				if !sections(string(target))[found[2]] {
					t.Errorf("%s links to %s, which has no section #%s", page, found[1], found[2])
				}
			}
		}
	}
}

// TestLengthOfPages checks that no page is too long to read in one go. Pages of the reference may be longer.
func TestLengthOfPages(t *testing.T) {
	_, reference, _ := strings.Cut(guide(t, "README.md"), "\n## Reference\n")
	reference, _, found := strings.Cut(reference, "\n## ")
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 || !found {
		t.Fatal(pages, err, found)
	}
	for _, page := range pages {
		name := filepath.Base(page)
		if n := len(strings.Fields(guide(t, name))); n > 2500 && !strings.Contains(reference, "("+name+")") {
			t.Errorf("%s has %d words: split it, or remove what isn't needed", name, n)
		}
	}
}

// TestIndexOfDecisions checks that the index lists each decision record in one area, and no record that doesn't exist.
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
