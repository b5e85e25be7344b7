package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/cli"
)

// TestInitRemovesOnlyItsOwnFiles checks that a failed init removes the files it created, but no file that another
// process created meanwhile.
func TestInitRemovesOnlyItsOwnFiles(t *testing.T) {
	for _, theirs := range []string{"newsletterd.service", ""} {
		dir := t.TempDir()
		put := func() {
			if theirs != "" {
				if err := os.WriteFile(filepath.Join(dir, theirs), []byte("theirs"), 0o600); err != nil {
					t.Error(err)
				}
			}
		}
		password := "correct horse battery\n"
		if theirs == "" { // this one fails instead
			password = "short\n"
		}
		in, typed := io.Pipe()
		go func() { // each write returns when it was read
			_, _ = io.WriteString(typed, password[:1])
			put()
			_, _ = io.WriteString(typed, password[1:])
			_ = typed.Close()
		}()
		var errs bytes.Buffer
		p := newProgram(in, io.Discard, &errs, nil)
		args := []string{
			"newsletterd", "init", "--config", filepath.Join(dir, "newsletterd.toml"), "--domain", "localhost",
			"--relay",
			"none", "--admin-email", "you@example.org", "--password-stdin",
		}
		if code := p.run(t.Context(), args); code != cli.ExitFailed {
			t.Errorf("%q: exit code %d: %s", theirs, code, &errs)
		}
		var left []string
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			left = append(left, e.Name())
		}
		if got := strings.Join(left, " "); got != theirs {
			t.Errorf("%q: left %q (%s)", theirs, got, &errs)
		}
	}
}

// TestInitKnowsThePackage checks that with an installed package, init writes to the folder of its unit, writes no unit,
// and says how to start it. For another configuration it ignores the package's unit.
func TestInitKnowsThePackage(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile("package/newsletterd.service")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	unit := filepath.Join(dir, "unit")
	text = bytes.ReplaceAll(text, []byte("/var/lib/newsletterd"), []byte(dir))
	if err := os.WriteFile(unit, text, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(want int, args ...string) (out, errs string) {
		var o, e bytes.Buffer
		p := newProgram(strings.NewReader(""), &o, &e, nil)
		p.unit = unit
		args = append([]string{"newsletterd", "init", "--domain", "localhost"}, args...)
		if code := p.run(t.Context(), args); code != want {
			t.Fatalf("exit code %d: %s", code, &e)
		}
		return o.String(), e.String()
	}
	if _, errs := run(cli.ExitUsage, "--binary", "/bin/newsletterd"); !strings.Contains(errs, "is installed") {
		t.Error(errs)
	}
	out, _ := run(cli.ExitDone)
	for want, is := range map[string]bool{
		filepath.Join(dir, "newsletterd.toml"): true, "systemctl enable --now newsletterd": true,
		"newsletterd.service": false, "daemon-reload": false, "Try it": false,
	} {
		if strings.Contains(out, want) != is {
			t.Errorf("%q: %v\n%s", want, !is, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "newsletterd.service")); err == nil {
		t.Error("there is a copy of the unit")
	}
	if _, errs := run(cli.ExitFailed); !strings.Contains(errs, "init overwrites nothing") ||
		!strings.Contains(errs, "systemctl enable --now newsletterd") {
		t.Error(errs)
	}
	other := t.TempDir()
	out, _ = run(cli.ExitDone, "--config", filepath.Join(other, "n.toml"))
	if !strings.Contains(out, "daemon-reload") {
		t.Error(out)
	}
}
