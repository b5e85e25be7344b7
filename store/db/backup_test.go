package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"newsletterd/core/coretest"
)

func TestBackupUnderLoadIsWholeAndHoldsWhatWasAcknowledged(t *testing.T) {
	tried := 0
	defer coretest.Held(t, 28, &tried, "backups under load")
	dir := t.TempDir()
	s := testOpen(t, filepath.Join(dir, "a.db"), Daemon)
	ctx, stop := context.WithCancel(t.Context())
	var acked int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for p := range 4 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if put(s, fmt.Sprint(p, "-", i), "row") == nil {
					mu.Lock()
					acked++
					mu.Unlock()
				}
			}
		})
	}
	for i := range 5 {
		tried++
		mu.Lock()
		before := acked
		mu.Unlock()
		to := filepath.Join(dir, fmt.Sprint("backup", i))
		if err := s.Backup(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		if fi, err := os.Stat(to); err != nil || fi.Mode().Perm() != 0o600 {
			t.Error(fi.Mode(), err)
		}
		if n := countMarks(t, to); n < before {
			t.Errorf("backup %d has %d rows, %d were acknowledged before it began", i, n, before)
		}
		if err := s.Backup(t.Context(), to); !errors.Is(err, ErrExists) {
			t.Errorf("over an existing file: %v", err)
		}
		if err := s.Snapshot(t.Context(), filepath.Join(dir, "snap", "a.db")); err != nil {
			t.Error(err)
		}
	}
	stop()
	wg.Wait()
	left, _ := filepath.Glob(filepath.Join(dir, ".backup*"))
	if len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestRestoreVerifiesAndMovesAside(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	s := testOpen(t, path, Daemon)
	if err := put(s, "one", "row"); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if err := put(s, "two", "row"); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	if _, err := Restore(t.Context(), backup, path, now); !errors.Is(err, ErrRunning) {
		t.Errorf("beside a daemon: %v", err)
	}
	if used, err := inUse(path); !used || err != nil {
		t.Errorf("an open database is not seen: %v, %v", used, err)
	}
	dead := crash(t, path) // a kill leaves a -wal
	bad := filepath.Join(dir, "bad.db")
	b, _ := os.ReadFile(backup)
	for i := 8192; i < 12288; i++ {
		b[i] = 0xff
	}
	if err := os.WriteFile(bad, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), bad, dead, now); err == nil {
		t.Error("a damaged backup was restored")
	}
	if _, err := os.Stat(dead + "-wal"); err != nil {
		t.Error("the refusal touched the old files:", err)
	}
	aside, err := Restore(t.Context(), backup, dead, now)
	if err != nil || len(aside) == 0 {
		t.Fatal(aside, err)
	}
	if n := countMarks(t, dead); n != 1 {
		t.Errorf("%d rows after the restore, want the 1 of the backup", n)
	}
	if n := countMarks(t, dead+".before-restore-20261121T080000Z"); n != 2 {
		t.Errorf("%d rows in what was moved aside, want 2", n)
	}
}

// leaveJournal leaves the rollback journal of another database at path, as if a kill had interrupted its first
// transaction.
func leaveJournal(t *testing.T, path string) {
	t.Helper()
	other := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", "file:"+other+"?_pragma=cache_size(1)")
	must(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(t.Context(), "BEGIN; CREATE TABLE filler (filler BLOB); "+
		"INSERT INTO filler VALUES (randomblob(500000))")
	must(t, err)
	b, err := os.ReadFile(other + "-journal")
	must(t, err)
	must(t, os.WriteFile(path+"-journal", b, 0o600))
}

// TestNoJournalGetsIntoACopy checks that a copy doesn't appear next to a journal, because SQLite would roll it back.
func TestNoJournalGetsIntoACopy(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	s := testOpen(t, path, Daemon)
	must(t, put(s, "one", "row"))
	must(t, s.Backup(t.Context(), backup))
	for _, ending := range []string{"-journal", "-wal"} {
		to := filepath.Join(dir, "c.db")
		must(t, os.WriteFile(to+ending, []byte("left"), 0o600))
		if err := s.Backup(t.Context(), to); !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), ending) {
			t.Errorf("a backup next to a %s: %v", ending, err)
		}
		err := WriteCopy(t.Context(), to, func(string) error { return errors.New("it was written") })
		if !errors.Is(err, ErrExists) {
			t.Errorf("a copy next to a %s: %v", ending, err)
		}
		must(t, os.Remove(to+ending))
	}
	must(t, s.Close())
	for _, gone := range []bool{true, false} {
		if gone {
			must(t, os.Remove(path))
		}
		leaveJournal(t, path)
		aside, err := Restore(t.Context(), backup, path, time.Now())
		must(t, err)
		if n := countMarks(t, path); n != 1 {
			t.Errorf("%d rows after the restore, want the 1 of the backup", n)
		}
		if !slices.ContainsFunc(aside, func(f string) bool { return strings.HasSuffix(f, "-journal") }) {
			t.Errorf("moved aside: %q", aside)
		}
	}
}

// TestWhatRootRestoresBelongsToTheDaemon checks file owners: the systemd unit runs the daemon as its own user, but root
// runs restore and migrate.
func TestWhatRootRestoresBelongsToTheDaemon(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	const daemon = 65534
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	s := testOpen(t, path, Daemon)
	must(t, put(s, "one", "row"))
	must(t, s.Backup(t.Context(), backup))
	must(t, s.Close())
	must(t, os.Chown(path, daemon, daemon))
	empty := filepath.Join(dir, "new")
	must(t, os.Mkdir(empty, 0o700))
	must(t, os.Chown(empty, daemon, daemon))
	for _, to := range []string{path, filepath.Join(empty, "a.db")} {
		if _, err := Restore(t.Context(), backup, to, time.Now()); err != nil {
			t.Fatal(err)
		}
		for _, f := range []string{to, to + ".lock"} {
			fi, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			if owner := fi.Sys().(*syscall.Stat_t).Uid; owner != daemon {
				t.Errorf("%s belongs to %d, want %d", f, owner, daemon)
			}
		}
	}
}

// TestRestoreTwiceInOneSecond checks that the files moved aside by the second restore don't overwrite those of the
// first.
func TestRestoreTwiceInOneSecond(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	s := testOpen(t, path, Daemon)
	must(t, put(s, "one", "row"))
	must(t, s.Backup(t.Context(), backup))
	must(t, put(s, "two", "row"))
	must(t, s.Close())
	now := time.Now()
	var aside []string
	for range 3 {
		names, err := Restore(t.Context(), backup, path, now)
		if err != nil {
			t.Fatal(err)
		}
		aside = append(aside, names...)
	}
	if len(aside) != 3 {
		t.Fatalf("%q", aside)
	}
	if n := countMarks(t, aside[0]); n != 2 {
		t.Errorf("%d rows in what was moved aside first, want 2", n)
	}
}
