package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// crash copies the three files as a kill -9 would leave them: nothing of the process's clean stop is in them.
func crash(t *testing.T, path string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, f := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + f)
		if err != nil && f == "" {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a.db"+f), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (s *Store) checkpointNow(t *testing.T) (busy bool) {
	t.Helper()
	err := s.update(t.Context(), func(*Tx) error { return errUndo }) // the writer is idle after this
	if !errors.Is(err, errUndo) {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.writer.checkpointRequests <- func() {
			var err error
			if busy, err = s.writer.runCheckpoint("PRAGMA wal_checkpoint(PASSIVE)"); err != nil {
				t.Error(err)
			}
		}
	}()
	<-done
	_ = s.update(t.Context(), func(*Tx) error { return errUndo })
	return busy
}

func TestAnyCrashImageOfOurOwnOpens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, Daemon)
	var wrote int
	check := func(step string) {
		t.Helper()
		c := testOpen(t, filepath.Join(crash(t, path), "a.db"), Daemon)
		var n int
		if err := c.get(t.Context(), &n, "SELECT count(*) FROM mark WHERE value = 'row'"); err != nil || n != wrote {
			t.Errorf("%s: %d rows after the crash, %v; want %d", step, n, err, wrote)
		}
		for i := range 3 { // a second crash, with what the restarted one wrote
			if err := put(c, fmt.Sprint("again", i), "again"); err != nil {
				t.Fatal(err)
			}
			testOpen(t, filepath.Join(crash(t, c.path), "a.db"), Daemon)
			if i == 1 {
				c.checkpointNow(t)
			}
		}
	}
	write := func() {
		t.Helper()
		wrote++
		if err := put(s, fmt.Sprint("row", wrote), "row"); err != nil {
			t.Fatal(err)
		}
	}
	write()
	check("before the first checkpoint")
	s.checkpointNow(t)
	check("after a checkpoint")
	write()
	check("after its first transaction")
	held, err := s.readers.Beginx()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := held.Get(&n, "SELECT count(*) FROM mark"); err != nil {
		t.Fatal(err)
	}
	write()
	if !s.checkpointNow(t) {
		t.Fatal("the held reader should keep the checkpoint from its end")
	}
	check("after an incomplete checkpoint")
	write()
	check("after the transaction behind it")
	_ = held.Rollback()
	s.checkpointNow(t)
	write()
	check("after the reader went")
}

func TestAnOldCopyBesideANewerWALIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, Daemon)
	if err := put(s, "a", "1"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s = testOpen(t, path, Daemon)
	for i := range 3 {
		if err := put(s, fmt.Sprint("b", i), "1"); err != nil {
			t.Fatal(err)
		}
		s.checkpointNow(t)
	}
	if err := put(s, "c", "1"); err != nil {
		t.Fatal(err)
	}
	dir := crash(t, path)
	testOpen(t, filepath.Join(dir, "a.db"), Daemon) // as it was left, it opens
	dir = crash(t, path)
	victim := filepath.Join(dir, "a.db")
	if err := os.WriteFile(victim, old, 0o600); err != nil {
		t.Fatal(err)
	}
	wal, _ := os.ReadFile(victim + "-wal")
	for _, mode := range []Mode{Daemon, Command} {
		if _, err := Open(t.Context(), Options{Path: victim, Mode: mode}); !errors.Is(err, ErrOldCopy) {
			t.Errorf("mode %d: %v; want the old copy refused", mode, err)
		}
	}
	now, _ := os.ReadFile(victim)
	nowWAL, _ := os.ReadFile(victim + "-wal")
	if !bytes.Equal(now, old) || !bytes.Equal(nowWAL, wal) {
		t.Error("the refusal changed the files")
	}
}

func TestTheDaemonCheckpointsByItself(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, Daemon)
	big := string(bytes.Repeat([]byte("x"), 1<<20))
	for i := range 20 { // 20 MiB of -wal
		if err := put(s, fmt.Sprint(i), big); err != nil {
			t.Fatal(err)
		}
	}
	_ = s.update(t.Context(), func(*Tx) error { return errUndo })
	if fi, err := os.Stat(path); err != nil || fi.Size() < checkpointAt {
		t.Errorf("the main file has %d bytes, %v", fi.Size(), err)
	}
	if s.writer.checkpoint.last.After(time.Now()) {
		t.Error("clock")
	}
}

// A -wal that was moved into the file keeps its size: that alone must not make every further commit a checkpoint.
func TestALargeWALIsNotMovedAgainAndAgain(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	write := func(name string, size int) {
		t.Helper()
		err := s.update(t.Context(), func(tx *Tx) error {
			_, err := tx.exec("INSERT INTO mark (name, value) VALUES (?, ?)", name, string(bytes.Repeat([]byte("x"), size)))
			return err
		})
		if err != nil && size > 0 {
			t.Fatal(err)
		}
	}
	mark := func() (id string) {
		if err := s.get(t.Context(), &id, "SELECT coalesce(max(value), '') FROM mark WHERE name = 'checkpoint_id'"); err != nil {
			t.Fatal(err)
		}
		return id
	}
	for i := 0; walSize(s.path) < checkpointAt; i++ {
		write(fmt.Sprint("large", i), 1<<20)
	}
	for i := range 2 * askEvery {
		write(fmt.Sprint("after", i), 10)
	}
	first := mark()
	if first == "" {
		t.Fatal("no checkpoint at all")
	}
	for i := range 10 * askEvery {
		write(fmt.Sprint("small", i), 10)
	}
	if second := mark(); second != first {
		t.Errorf("a checkpoint with less than %d bytes in the -wal", checkpointAt)
	}
	for i := range 20 {
		write(fmt.Sprint("again", i), 1<<20)
	}
	for i := range 2 * askEvery {
		write(fmt.Sprint("end", i), 10)
	}
	if mark() == first {
		t.Error("no checkpoint of a -wal that was filled again")
	}
}
