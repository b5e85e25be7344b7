package main

import (
	"os/exec"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/cli"
)

// shell runs a script if the shell is installed.
func shell(t *testing.T, name, script string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("there is no %s", name)
	}
	cmd := exec.Command(name)
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// printed returns the output of a command.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs strings.Builder
	if code := newProgram(nil, &out, &errs, nil).run(t.Context(), append([]string{"newsletterd"}, args...)); code != 0 {
		t.Fatal(code, errs.String())
	}
	return out.String()
}

func TestBashCompletion(t *testing.T) {
	script := printed(t, "completion", "bash")
	for line, want := range map[string]string{
		"newsletterd admin ten":                                  "tenant",
		"newsletterd --config x.toml admin tenant create --doma": "--domain",
		"newsletterd backup --js":                                "--json",
		"newsletterd completion ":                                "bash fish zsh",
		"newsletterd backup --to /etc/host":                      "/etc/host", // a file with this prefix
		"newsletterd admin list create --tenant ":                "",
	} {
		got := shell(t, "bash", script+"\nCOMP_WORDS=("+strings.TrimSpace(line)+")\n[[ '"+line+
			"' == *' ' ]] && COMP_WORDS+=('')\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_newsletterd\necho "+
			"${COMPREPLY[@]}\n")
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q completes to %q, want %q", line, got, want)
		}
	}
}

func TestZshCompletion(t *testing.T) {
	script := strings.TrimSuffix(printed(t, "completion", "zsh"), "_newsletterd \"$@\"\n")
	got := shell(t, "zsh", script+`
_describe() { eval "print -l -- \$$2" }
words=(newsletterd --json admin tenant ''); CURRENT=5; _newsletterd
words=(newsletterd admin tenant create --na); CURRENT=5; _newsletterd
`)
	for _, w := range []string{"create:", "delete:", "--name:", "--domain:"} {
		if !strings.Contains("\n"+got, "\n"+w) {
			t.Errorf("%s is missing in\n%s", w, got)
		}
	}
}

func TestFishCompletion(t *testing.T) {
	script := printed(t, "completion", "fish")
	got := shell(t, "fish", script+
		"\ncomplete -C 'newsletterd admin tenant c'\ncomplete -C 'newsletterd admin list create --ten'\n")
	for _, w := range []string{"create", "--tenant"} {
		if !strings.Contains("\n"+got, "\n"+w) {
			t.Errorf("%s is missing in\n%s", w, got)
		}
	}
}

// TestManual checks that the manual page has every command and flag, and that groff reports no errors in it.
func TestManual(t *testing.T) {
	page := printed(t, "man")
	roff := strings.NewReplacer("-", `\-`)
	for _, at := range cli.Paths(newProgram(nil, nil, nil, nil).app()) {
		if len(at.Words) == 0 && !strings.Contains(page, ".SS "+roff.Replace(at.Path)+"\n") {
			t.Errorf("%s is missing", at.Path)
		}
		for _, f := range at.Flags {
			if !strings.Contains(page, roff.Replace("--"+f.Name)) && f.Name != "help" && f.Name != "user" {
				t.Errorf("--%s of %s is missing", f.Name, at.Path)
			}
		}
	}
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("there is no groff")
	}
	cmd := exec.Command("groff", "-man", "-Tutf8", "-ww", "-z")
	cmd.Stdin = strings.NewReader(page)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
