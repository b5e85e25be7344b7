package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An init that fails takes away what it has made, and nothing that another process has put there meanwhile.
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
		if theirs == "" { // then it is this that fails
			password = "short\n"
		}
		in, typed := io.Pipe()
		go func() { // each write returns when it has been read
			_, _ = io.WriteString(typed, password[:1])
			put()
			_, _ = io.WriteString(typed, password[1:])
			_ = typed.Close()
		}()
		var errs bytes.Buffer
		p := &program{in: in, out: io.Discard, err: &errs}
		args := []string{
			"newsletterd", "init", "--config", filepath.Join(dir, "newsletterd.toml"), "--domain", "localhost",
			"--relay",
			"none", "--admin-email", "you@example.org", "--password-stdin",
		}
		if code := p.run(t.Context(), args); code != exitFailed {
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
