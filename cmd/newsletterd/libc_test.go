package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLibcIsTheOneThatSQLiteWasBuiltWith checks the version of the C library. The SQLite driver is generated for one
// exact version; any other corrupts memory.
func TestLibcIsTheOneThatSQLiteWasBuiltWith(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Path}} {{.Version}} {{.Dir}}", "modernc.org/sqlite",
		"modernc.org/libc").Output()
	if err != nil {
		t.Fatal(err)
	}
	have, dir := map[string]string{}, ""
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		have[f[0]] = f[1]
		if f[0] == "modernc.org/sqlite" {
			dir = f[2]
		}
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`modernc\.org/libc (v\S+)`).FindStringSubmatch(string(mod))
	if want == nil || have["modernc.org/libc"] != want[1] {
		t.Errorf("modernc.org/libc is %s, modernc.org/sqlite %s needs %v", have["modernc.org/libc"],
			have["modernc.org/sqlite"], want)
	}
}
