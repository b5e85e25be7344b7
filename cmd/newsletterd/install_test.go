package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
)

// TestTortureInstallation runs the commands of docs/install.md that set up a machine, send a newsletter and restore a
// backup. `make torture` builds the program like `make release`; otherwise it is the test binary.
func TestTortureInstallation(t *testing.T) {
	daemontest.Parallel(t)
	tools(t, "bash", "curl", "jq", "sed", "cmp")
	script := commandsIn(t, "install.md")
	if !strings.Contains(script, "newsletterd restore") {
		t.Fatal("docs/install.md does not show an installation")
	}
	dir, bin := t.TempDir(), t.TempDir()
	program := filepath.Join(bin, "newsletterd")
	if daemontest.AtLength() {
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	} else if exe, err := os.Executable(); err != nil || os.Symlink(exe, program) != nil {
		t.Fatal("no program", err)
	}
	shell := exec.Command("bash")
	shell.Dir = dir
	shell.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "NEWSLETTERD_METRICS_LISTEN=")
	script = strings.ReplaceAll(script, "newsletterd init ", "newsletterd init --config newsletterd.toml --binary "+program+" ")
	shell.Stdin = strings.NewReader("set -euo pipefail\n" +
		strings.ReplaceAll(script, "127.0.0.1:8080", daemontest.FreeAddr(t)))
	var out bytes.Buffer
	shell.Stdout, shell.Stderr = &out, &out
	err := shell.Run()
	log, _ := os.ReadFile(filepath.Join(dir, "newsletterd.log"))
	if err != nil || !strings.Contains(string(log), `"stopped"`) {
		t.Fatalf("%v\n%s\n%s", err, out.String(), log)
	}
	for _, want := range []string{
		"Server administrator: you@example.org", "completed", "Backed up", "is intact",
		`"status":"active"`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}
