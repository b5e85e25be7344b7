package db

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"
)

// TestLocksSurviveAForeignLookAtTheFile checks that a foreign program is locked out of a served database, even after
// this process has opened and closed the file directly. Closing any descriptor would release POSIX locks, and the
// foreign write would then be lost silently.
func TestLocksSurviveAForeignLookAtTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, Daemon)
	if err := put(s, "before", "x"); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, path + "-shm"} {
		if _, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestForeignProgram$", "-test.v")
	cmd.Env = append(os.Environ(), "STORE_FOREIGN_CHILD="+path)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "database is locked") {
		t.Errorf("the foreign program was not locked out: %v\n%s", err, out)
	}
	if err := put(s, "after", "x"); err != nil {
		t.Error(err)
	}
}

// TestForeignProgram runs in the child process as another SQLite program that uses SQLite's own locks and tries to take
// over the file.
func TestForeignProgram(t *testing.T) {
	path := os.Getenv("STORE_FOREIGN_CHILD")
	if path == "" {
		t.Skip("only as a child of another test")
	}
	db, err := sqlx.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var mode string
	err = db.Get(&mode, "PRAGMA journal_mode=delete")
	if err == nil {
		t.Fatalf("the foreign program switched the file to %s", mode)
	}
	t.Log(err)
}
