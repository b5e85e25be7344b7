package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
)

const operationGuide = "../../docs/operation.md"

// installed returns a folder in the state after `init`, with a daemon that has sent one newsletter.
func installed(t *testing.T) (metrics string, run func(script string) string) {
	t.Helper()
	tools(t, "bash", "curl", "jq", "grep")
	dir, bin, addr, side := t.TempDir(), t.TempDir(), daemontest.FreeAddr(t), daemontest.FreeAddr(t)
	env := append(programIn(t, bin), "NEWSLETTERD_METRICS_LISTEN="+side)
	run = func(script string) string {
		c := exec.Command("bash", "-c", script)
		c.Dir, c.Env = dir, env
		out, err := c.CombinedOutput()
		if err != nil && len(out) == 0 {
			t.Fatalf("%v: %s", err, script)
		}
		return strings.NewReplacer(dir, "/var/lib/newsletterd", addr, "127.0.0.1:8080", side,
			"127.0.0.1:8081").Replace(string(out))
	}
	run("newsletterd init --config newsletterd.toml --domain localhost --relay none --admin-email you@example.org --listen " + addr)
	daemon := exec.Command(filepath.Join(bin, "newsletterd"), "serve")
	daemon.Dir, daemon.Env = dir, append(os.Environ(), "NEWSLETTERD_METRICS_LISTEN="+side)
	said, err := daemon.StderrPipe()
	if err == nil {
		err = daemon.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	drained := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, said); close(drained) }()
	t.Cleanup(func() {
		_ = daemon.Process.Signal(os.Interrupt)
		<-drained
		_ = daemon.Wait()
	})
	out := run(`set -euo pipefail
		until curl -sf http://` + addr + `/healthz; do sleep 0.1; done
		TENANT=$(newsletterd admin tenant create --name Acme --json | jq -r .id)
		LIST=$(newsletterd admin list create --tenant $TENANT --name "Monthly news" --json | jq -r .id)
		printf 'email,first_name\nada@example.org,Ada\ngrace@example.org,Grace\n' > people.csv
		newsletterd admin subscriber import --list $LIST --file people.csv
		until newsletterd admin list sync --list $LIST --dry-run --json | jq -e '.missing == 0' > /dev/null; do sleep 0.1; done
		echo "Our first issue." > issue.txt
		JOB=$(newsletterd admin job create --list $LIST --subject "News from Acme" --text issue.txt --json | jq -r .id)
		newsletterd admin job watch --id $JOB
		mkdir -p backup && newsletterd backup --to backup/newsletterd.db`)
	if !strings.Contains(out, "completed") {
		t.Fatal(out)
	}
	return "http://" + side + "/metrics", run
}

// console matches the blocks of a guide with a command and its output.
var console = regexp.MustCompile("(?s)```console\n\\$ ([^\n]*)\n(.*?)```\n")

// TestOutputsOfTheGuide runs the commands whose output docs/operation.md shows, and compares everything except numbers
// and values that depend on the machine (clock, disk). UPDATE_GUIDES=1 rewrites the outputs. Then it runs the commands
// without an output.
func TestOutputsOfTheGuide(t *testing.T) {
	daemontest.Parallel(t)
	metricsURL, run := installed(t)
	update := os.Getenv("UPDATE_GUIDES") != ""
	text, err := os.ReadFile(operationGuide)
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	now := console.ReplaceAllStringFunc(string(text), func(block string) string {
		part := console.FindStringSubmatch(block)
		shown++
		out := run(part[1])
		if got, want := withoutFigures(out), withoutFigures(part[2]); got != want && !update {
			t.Errorf("%s prints\n%s\nand the guide shows\n%s\n(UPDATE_GUIDES=1 writes it anew)", part[1], got, want)
		}
		return "```console\n$ " + part[1] + "\n" + out + "```\n"
	})
	if shown < 5 {
		t.Errorf("only %d outputs are shown", shown)
	}
	if update {
		if err := os.WriteFile(operationGuide, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out := run("set -euo pipefail\n" + commandsIn(t, "operation.md") + "echo \"all done\""); !strings.HasSuffix(out,
		"all done\n") {
		t.Errorf("a command of the guide fails:\n%s", out)
	}
	res, err := http.Get(metricsURL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	metrics, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile("newsletterd_[a-z_]+[a-z]").FindAllString(now, -1) {
		if !strings.Contains(string(metrics), "\n"+name) {
			t.Errorf("there is no metric %s", name)
		}
	}
}

var anyFigure = regexp.MustCompile(`[0-9][0-9.:TZ-]*( [kMGT]?B\b|[µmn]?s\b)?`)

// withoutFigures removes from an output what differs between runs and machines.
func withoutFigures(out string) string {
	var lines []string
	skip := false
	for line := range strings.Lines(out) {
		word := strings.Fields(line)
		if skip && len(word) > 0 && word[0] == "→" {
			continue
		}
		skip = len(word) > 1 && (word[1] == "clock" || word[1] == "disk")
		if skip {
			continue
		}
		lines = append(lines, anyFigure.ReplaceAllString(strings.Join(word, " "), "N"))
	}
	return strings.Join(lines, "\n")
}
