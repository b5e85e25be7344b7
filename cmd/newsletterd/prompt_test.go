//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"newsletterd/cmd/newsletterd/cli"
)

// openTerminal returns both ends of a terminal.
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	fd := int(person.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// typeAt runs the program at a terminal, and types each answer when its question appears. It returns the exit code and
// the output.
func typeAt(t *testing.T, args []string, dialog ...string) (code int, said string) {
	t.Helper()
	person, tty := openTerminal(t)
	questions, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer questions.Close()
	cmd := exec.Command("newsletterd", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = out.Close()
	var text strings.Builder
	b := make([]byte, 1)
	for i := 0; i+1 < len(dialog); i += 2 {
		from := text.Len()
		for !strings.Contains(text.String()[from:], dialog[i]) {
			if _, err := questions.Read(b); err != nil {
				t.Errorf("%q was not asked", dialog[i])
				i = len(dialog)
				break
			}
			text.Write(b)
		}
		_, _ = person.WriteString(dialog[i+1])
	}
	_, _ = io.Copy(&text, questions)
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode(), text.String()
}

// TestCtrlCAtEveryPrompt checks that Ctrl-C ends a command that waits for an answer, before it has written anything.
func TestCtrlCAtEveryPrompt(t *testing.T) {
	const ctrlC = "\x03"
	dir := t.TempDir()
	path := filepath.Join(dir, "n.db")
	t.Setenv("NEWSLETTERD_DATABASE_PATH", path)
	for _, args := range [][]string{
		{"migrate"},
		{"admin", "user", "create", "--email", "ann@acme.example"},
		{"admin", "tenant", "create", "--name", "Acme"},
		{"admin", "list", "create", "--tenant", "Acme", "--name", "News"},
		{"admin", "client", "create", "--tenant", "Acme", "--name", "Shop", "--redirect-uri", "https://app.example/cb"},
	} {
		if out, err := exec.Command("newsletterd", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	made := filepath.Join(dir, "made.toml")
	for name, c := range map[string]struct{ args, dialog []string }{
		"tenant": {[]string{"admin", "tenant", "delete", "--id", "Acme"}, []string{"[y/N]: ", ctrlC}},
		"list":   {[]string{"admin", "list", "delete", "--id", "News"}, []string{"[y/N]: ", ctrlC}},
		"client": {[]string{"admin", "client", "delete", "--id", "Shop"}, []string{"[y/N]: ", ctrlC}},
		"user":   {[]string{"admin", "user", "delete", "--user", "ann@acme.example"}, []string{"[y/N]: ", ctrlC}},
		"password": {
			[]string{"admin", "user", "set-password", "--user", "ann@acme.example", "--password-stdin"},
			[]string{"Password: ", ctrlC},
		},
		"init": {[]string{"init", "--config", made}, []string{"localhost to try newsletterd): ", ctrlC}},
		"the mail server that fails": {
			[]string{
				"init", "--config", made, "--domain", "localhost", "--relay", "127.0.0.1:1", "--admin-email", "you@example.org",
			},
			[]string{"no test]: ", "\n", "[c]: ", ctrlC},
		},
		"the relay's password": {
			[]string{
				"init", "--config", made, "--domain", "localhost", "--relay", "me@127.0.0.1:1", "--admin-email", "you@example.org",
				"--registration", "closed",
			},
			[]string{"127.0.0.1: ", "\n", "The password is empty.", "", "127.0.0.1: ", ctrlC},
		},
	} {
		code, said := typeAt(t, c.args, c.dialog...)
		if code != cli.ExitFailed || !strings.Contains(said, "newsletterd: interrupted") {
			t.Errorf("%s: exit code %d: %s", name, code, said)
		}
	}
	if _, err := os.Stat(made); !os.IsNotExist(err) {
		t.Errorf("init has written its configuration: %v", err)
	}
}
