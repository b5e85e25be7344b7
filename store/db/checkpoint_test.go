package db

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func (s *DB) checkpointNow(t *testing.T) (busy bool) {
	t.Helper()
	err := s.Update(t.Context(), func(*Tx) error { return errUndo }) // afterwards the writer is idle
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
	_ = s.Update(t.Context(), func(*Tx) error { return errUndo })
	return busy
}

// announceNow leaves the state of a kill in the middle of a checkpoint: the mark is in the -wal, but not in the file
// yet.
func (s *DB) announceNow(t *testing.T) {
	t.Helper()
	done := make(chan error)
	s.writer.checkpointRequests <- func() { done <- s.writer.announceCheckpoint() }
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestKilledInTheMiddleOfACheckpoint kills, starts and kills again, while the mark of a checkpoint is only in the -wal
// and a command writes while the daemon runs.
func TestKilledInTheMiddleOfACheckpoint(t *testing.T) {
	for _, withCommand := range []bool{false, true} {
		t.Run(fmt.Sprint("with a command: ", withCommand), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			for round := range 6 {
				s := testOpen(t, path, Daemon)
				write := func(by *DB, name string) {
					t.Helper()
					if err := put(by, fmt.Sprint(name, round), "1"); err != nil {
						t.Fatal(err)
					}
				}
				write(s, "a")
				early := testOpen(t, path, Command)
				if round%2 == 0 {
					s.checkpointNow(t)
				}
				if round%3 == 0 {
					write(s, "b")
				}
				if withCommand {
					write(early, "c")
				}
				if round%4 != 0 { // otherwise the checkpoint was complete, and the -wal still exists
					s.announceNow(t)
				}
				if withCommand {
					write(testOpen(t, path, Command), "d")
				}
				path = crash(t, path)
			}
			testOpen(t, path, Daemon)
		})
	}
}

func TestAnyCrashImageOfOurOwnOpens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, Daemon)
	var wrote int
	check := func(step string) {
		t.Helper()
		c := testOpen(t, crash(t, path), Daemon)
		var n int
		if err := c.Get(t.Context(), &n, "SELECT count(*) FROM mark WHERE value = 'row'"); err != nil || n != wrote {
			t.Errorf("%s: %d rows after the crash, %v; want %d", step, n, err, wrote)
		}
		for i := range 3 { // a second crash, after writes by the restarted daemon
			if err := put(c, fmt.Sprint("again", i), "again"); err != nil {
				t.Fatal(err)
			}
			testOpen(t, crash(t, c.path), Daemon)
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

func TestAnOldCopyWithANewerWALIsRefused(t *testing.T) {
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
	testOpen(t, crash(t, path), Daemon) // unchanged, it opens
	victim := crash(t, path)
	if err := os.WriteFile(victim, old, 0o600); err != nil {
		t.Fatal(err)
	}
	sqlite, err := sql.Open("sqlite", "file:"+crash(t, victim)) // plain SQLite, which ignores the marks
	must(t, err)
	defer sqlite.Close()
	var found string
	must(t, sqlite.QueryRow("PRAGMA integrity_check").Scan(&found))
	if found != "ok" {
		t.Fatal("SQLite's own check finds the mixture, so this test shows nothing")
	}
	wal, _ := os.ReadFile(victim + "-wal")
	for _, mode := range []Mode{Daemon, Command} {
		if _, err := open(t.Context(), Options{Path: victim, Mode: mode}); !errors.Is(err, ErrOldCopy) {
			t.Errorf("mode %d: %v; want the old copy refused", mode, err)
		}
	}
	for _, dry := range []bool{true, false} {
		if _, err := Migrate(t.Context(), victim, MigrateOptions{DryRun: dry, Now: time.Now()}); !errors.Is(err,
			ErrOldCopy) {
			t.Errorf("migrate, dry run %v: %v; want the old copy refused", dry, err)
		}
	}
	now, _ := os.ReadFile(victim)
	nowWAL, _ := os.ReadFile(victim + "-wal")
	if !bytes.Equal(now, old) || !bytes.Equal(nowWAL, wal) {
		t.Error("the refusal changed the files")
	}
}

// refused replaces the main file of a crash image, and fails unless the replacement is detected.
func refused(t *testing.T, victim string, main []byte) {
	t.Helper()
	if err := os.WriteFile(victim, main, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t.Context(), Options{Path: victim}); !errors.Is(err, ErrOldCopy) {
		t.Errorf("%v; want the old copy refused", err)
	}
}

// TestACopyFromWithinACheckpointIsRefused copies the file while a reader keeps a checkpoint from finishing. Next to the
// -wal written after the checkpoint, the copy is old.
func TestACopyFromWithinACheckpointIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, Daemon)
	must(t, put(s, "a", "1"))
	command := testOpen(t, path, Command)
	must(t, put(command, "b", "1"))
	s.announceNow(t)
	held, err := s.readers.Beginx()
	must(t, err)
	var res checkpointResult
	must(t, held.Get(&res.Busy, "SELECT count(*) FROM mark"))
	must(t, onlyErr(command.Throttle(t.Context(), "c", 1, day, now0))) // a page without marks
	done := make(chan error)
	s.writer.checkpointRequests <- func() { done <- s.writer.tx.Get(&res, "PRAGMA wal_checkpoint(PASSIVE)") }
	if err := <-done; err != nil || res.Log == res.Checkpointed {
		t.Fatalf("the checkpoint came to its end: %+v, %v", res, err)
	}
	within, err := os.ReadFile(path)
	must(t, err)
	testOpen(t, crash(t, path), Daemon) // the file matches the -wal of that moment
	must(t, held.Rollback())
	if s.checkpointNow(t) {
		t.Fatal("the checkpoint did not come to its end")
	}
	must(t, put(s, "d", "1"))
	testOpen(t, crash(t, path), Daemon)
	refused(t, crash(t, path), within)
}

// TestAnOldCopyWithTheWALOfACommandIsRefused makes a command the first writer after a checkpoint.
func TestAnOldCopyWithTheWALOfACommandIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, Daemon)
	must(t, put(s, "a", "1"))
	s.checkpointNow(t)
	must(t, put(s, "b", "1"))
	old, err := os.ReadFile(path)
	must(t, err)
	s.checkpointNow(t)
	must(t, put(testOpen(t, path, Command), "c", "1"))
	testOpen(t, crash(t, path), Daemon)
	refused(t, crash(t, path), old)
}

// TestACommandThatMissedADaemon starts to write after a daemon has come and gone since the command opened the file.
func TestACommandThatMissedADaemon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	write := func(s *DB, name string) {
		t.Helper()
		must(t, put(s, name, "1"))
		must(t, s.Close())
	}
	write(testOpen(t, path, Daemon), "a")
	command := testOpen(t, path, Command)
	write(testOpen(t, path, Daemon), "b")
	command.daemonSeen.Store(time.Now().Add(time.Hour).UnixMilli()) // pretend that it has just checked
	must(t, put(command, "c", "1"))
	testOpen(t, crash(t, path), Daemon)
}

func TestTheDaemonCheckpointsByItself(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, Daemon)
	big := string(bytes.Repeat([]byte("x"), 1<<20))
	for i := range 2 * lookEvery { // 32 MiB of -wal
		if err := put(s, fmt.Sprint(i), big); err != nil {
			t.Fatal(err)
		}
	}
	_ = s.Update(t.Context(), func(*Tx) error { return errUndo })
	if fi, err := os.Stat(path); err != nil || fi.Size() < CheckpointAt {
		t.Errorf("the main file has %d bytes, %v", fi.Size(), err)
	}
	if s.writer.checkpoint.last.After(time.Now()) {
		t.Error("clock")
	}
}

// TestACheckpointFollowsBulkWork checks that the size of the -wal is checked after each bulk operation, because bulk
// work writes a lot.
func TestACheckpointFollowsBulkWork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, Daemon)
	must(t, s.Bulk(t.Context(), func(tx *Tx) error {
		_, err := tx.Exec("INSERT INTO mark (name, value) VALUES ('bulk', ?)",
			string(bytes.Repeat([]byte("x"), CheckpointAt)))
		return err
	}))
	_ = s.Update(t.Context(), func(*Tx) error { return errUndo })
	if fi, err := os.Stat(path); err != nil || fi.Size() < CheckpointAt {
		t.Errorf("the main file has %d bytes, %v", fi.Size(), err)
	}
}

// TestCheckpointsAreRarerWithAFarReplica checks that checkpoints run less often with a remote replica, because all
// writers wait for the replica during each.
func TestCheckpointsAreRarerWithAFarReplica(t *testing.T) {
	for latency, want := range map[time.Duration]int64{
		0: CheckpointAt, 5 * time.Millisecond: CheckpointAt * 3 / 2, 30 * time.Millisecond: 4 * CheckpointAt,
		time.Minute: 4 * CheckpointAt,
	} {
		if got := (&checkpointState{}).due(latency); got != want {
			t.Errorf("%v away: due at %d bytes, not at %d", latency, got, want)
		}
	}
	if got := (&checkpointState{file: true}).due(time.Minute); got != 4*CheckpointFile {
		t.Errorf("while files come in: due at %d bytes", got)
	}
}

// TestAGrowingWALIsGivenRoom checks that a growing -wal is extended in advance, and that the added zeros don't become
// part of the database, even after a kill.
func TestAGrowingWALIsGivenRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, Daemon)
	const commits = 100
	grown := 0 // number of commits that found no room, which a check of the size adds later
	for i, size := 0, int64(0); i < commits; i++ {
		if err := put(s, fmt.Sprint(i), string(bytes.Repeat([]byte("x"), 100<<10))); err != nil {
			t.Fatal(err)
		}
		_ = s.Update(t.Context(), func(*Tx) error { return errUndo })
		now := WalSize(path)
		if now > size {
			grown++
		}
		if size = now; i == commits-1 && (grown > commits*2/3 || now > roomEnough) {
			t.Errorf("10 MB are written, and the -wal grew %d times to %d", grown, now)
		}
		if i%33 > 0 {
			continue
		}
		c := testOpen(t, crash(t, path), Daemon)
		var n int
		if err := c.Get(t.Context(), &n,
			"SELECT count(*) FROM mark WHERE length(value) = 102400"); err != nil || n != i+1 {
			t.Errorf("%d rows after a crash behind %d commits: %v", n, i+1, err)
		}
	}
}

// TestACutWALIsGivenRoomAgain checks that a truncated -wal is extended again.
func TestACutWALIsGivenRoomAgain(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	fill := func(name string) (size int64) {
		t.Helper()
		for i := range lookEvery {
			if err := put(s, fmt.Sprint(name, i), string(bytes.Repeat([]byte("x"), 50<<10))); err != nil {
				t.Fatal(err)
			}
		}
		_ = s.Update(t.Context(), func(*Tx) error { return errUndo })
		return WalSize(s.path)
	}
	first := fill("first")
	done := make(chan struct{})
	s.writer.checkpointRequests <- func() {
		defer close(done)
		if _, err := s.writer.moveWAL("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			t.Error(err)
		}
	}
	<-done
	if WalSize(s.path) != 0 {
		t.Fatal("it was not cut off")
	}
	if second := fill("second"); second < 1<<20 || first < 1<<20 {
		t.Errorf("800 KB are written, and the -wal has %d bytes, then %d", first, second)
	}
}

// TestALargeWALIsNotMovedAgainAndAgain checks that the size of a -wal, which it keeps after its contents were moved
// into the file, doesn't cause a checkpoint at every further commit.
func TestALargeWALIsNotMovedAgainAndAgain(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	write := func(name string, size int) {
		t.Helper()
		err := s.Update(t.Context(), func(tx *Tx) error {
			_, err := tx.Exec("INSERT INTO mark (name, value) VALUES (?, ?)", name,
				string(bytes.Repeat([]byte("x"), size)))
			return err
		})
		if err != nil && size > 0 {
			t.Fatal(err)
		}
	}
	mark := func() (id string) {
		if err := s.Get(t.Context(), &id,
			"SELECT coalesce(max(value), '') FROM mark WHERE name = 'checkpoint_id'"); err != nil {
			t.Fatal(err)
		}
		return id
	}
	for i := range 20 {
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
		t.Errorf("a checkpoint with less than %d bytes in the -wal", CheckpointAt)
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
