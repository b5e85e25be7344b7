package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/store/storetest"
)

// TestCommandsNameTheFullDisk checks that any command on a full disk names the file and says what to do.
func TestCommandsNameTheFullDisk(t *testing.T) {
	dir := storetest.SmallDisk(t, "3")
	path := filepath.Join(dir, "n.db")
	run := func(args ...string) string {
		out, _ := exec.Command("newsletterd", append(args, "--database", path)...).CombinedOutput()
		return string(out)
	}
	named := func(doing, said string) {
		t.Helper()
		if !strings.Contains(said, path) || !strings.Contains(said, "Free some space") {
			t.Errorf("%s: %s", doing, said)
		}
	}
	filler := filepath.Join(dir, "filler")
	fill := func(bytes int) {
		t.Helper()
		if err := os.WriteFile(filler, make([]byte, bytes), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fill(3<<20 - 300<<10)
	named("migrate", run("migrate"))
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if said := run("migrate"); !strings.Contains(said, "applied") {
		t.Fatal(said)
	}
	fillDisk(t, filler)
	named("create", run("admin", "tenant", "create", "--name", "Acme"))
}

// fillDisk writes to a file until the disk is full.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); ; {
		if _, err := f.Write(block); err != nil {
			return
		}
	}
}
