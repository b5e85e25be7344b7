package db

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
)

func TestConcurrentUpdatesAllCommitOrFailAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, Daemon)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			err := s.Update(t.Context(), func(tx *Tx) error {
				if _, err := tx.Exec("INSERT INTO mark (name, value) VALUES (?, 'x')", fmt.Sprint("k", i)); err != nil {
					return err
				}
				if i%10 == 3 {
					return core.ErrConflict
				}
				if i%10 == 4 {
					panic("in an operation")
				}
				return nil
			})
			if want := i%10 == 3 || i%10 == 4; (err != nil) != want {
				t.Errorf("op %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	var n int
	if err := s.Get(t.Context(), &n, "SELECT count(*) FROM mark WHERE value = 'x'"); err != nil || n != 160 {
		t.Fatalf("%d rows, %v; want the 160 of the operations that did not fail", n, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(path + f); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left after a clean stop: %v", f, err)
		}
	}
	if fi, _ := os.Stat(path); fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", fi.Mode())
	}
}

func TestErrorsAreTranslatedByCode(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	if err := put(s, "a", "1"); err != nil {
		t.Fatal(err)
	}
	if err := put(s, "a", "2"); !errors.Is(err, core.ErrConflict) {
		t.Errorf("duplicate key: %v", err)
	}
	var v string
	if err := s.Get(t.Context(), &v, "SELECT value FROM mark WHERE name = 'none'"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("no row: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Get(ctx, &v, "SELECT 1"); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("ended context: %v", err)
	}
	_ = s.Close()
	if err := put(s, "b", "1"); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("closed: %v", err)
	}
	if err := s.Get(t.Context(), &v, "SELECT 1"); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("closed read: %v", err)
	}
}

func TestASecondDaemonIsRefusedAndACommandIsNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, Daemon)
	if err := put(s, "first", "1"); err != nil { // creates a -wal
		t.Fatal(err)
	}
	var said bytes.Buffer
	if _, err := open(t.Context(), Options{
		Path: path, Migrate: true,
		Log: slog.New(slog.NewTextHandler(&said, nil)),
	}); !errors.Is(err, ErrRunning) {
		t.Fatalf("second daemon: %v", err)
	}
	if said.Len() > 0 || WalSize(path) == 0 {
		t.Errorf("it says of a -wal that is none of its business: %s", &said)
	}
	c := testOpen(t, path, Command)
	if !c.DaemonRuns() {
		t.Error("the command does not see the daemon")
	}
	kicked, foreign := make(chan struct{}, 9), make(chan struct{}, 9)
	s.OnKick(TopicJobs, func() { kicked <- struct{}{} })
	s.OnForeign(func() { foreign <- struct{}{} })
	before := s.Departures("")
	if err := put(c, "from-command", "1"); err != nil {
		t.Fatal(err)
	}
	<-kicked
	<-foreign
	if s.Departures("") == before {
		t.Error("a foreign commit did not move Departures")
	}
}

// TestACommandEndsWhenTheDaemonHasSeenItsChange checks that, when a command ends, the daemon no longer uses data from
// before the command's change.
func TestACommandEndsWhenTheDaemonHasSeenItsChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, Daemon)
	c, err := open(t.Context(), Options{Path: path, Mode: Command})
	if err != nil {
		t.Fatal(err)
	}
	var seen atomic.Bool
	s.OnForeign(func() { seen.Store(true) })
	if err := put(c, "from-command", "1"); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if !seen.Load() {
		t.Error("the command is done, and the daemon does not know of it")
	}
}

func TestWritesWaitForAForeignLockAndThenFail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, Daemon)
	c := testOpen(t, path, Command)
	s.writer.tries = 50 * time.Millisecond
	hold, held := make(chan struct{}), make(chan struct{})
	go func() {
		_ = c.Update(context.Background(), func(*Tx) error { close(held); <-hold; return errUndo })
	}()
	<-held
	if err := put(s, "a", "1"); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("locked: %v", err)
	}
	close(hold)
	s.writer.tries = daemonTries
	if err := put(s, "a", "1"); err != nil {
		t.Errorf("after the lock: %v", err)
	}
}

func TestADeletedFileStopsWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, Daemon)
	if db, sess := s.Ping(t.Context()); db != nil || sess != nil {
		t.Fatal(db, sess)
	}
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := put(s, "a", "1"); !errors.Is(err, ErrReplaced) {
		t.Errorf("write: %v", err)
	}
	if db, _ := s.Ping(t.Context()); !errors.Is(db, ErrReplaced) {
		t.Errorf("ping: %v", db)
	}
}

func TestMigrateNeedsTheFileAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := testOpen(t, path, Daemon)
	done, err := Migrate(t.Context(), path, MigrateOptions{Now: time.Now()})
	if err != nil || len(done.Migrations) != 0 {
		t.Fatalf("nothing pending: %v, %v", done, err)
	}
	_ = s.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := createFile(path, true); err != nil {
		t.Fatal(err)
	}
	done, err = Migrate(t.Context(), path, MigrateOptions{To: 3, Now: time.Now()})
	if err != nil || len(done.Migrations) != 3 {
		t.Fatalf("to 3: %v, %v", done, err)
	}
	if _, err := open(t.Context(), Options{Path: path, Mode: Command}); err == nil {
		t.Fatal("a command took an older schema")
	}
}

func TestSecretsAtRest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	key := make([]byte, 32)
	s, err := open(t.Context(), Options{Path: path, Migrate: true, MasterKey: key})
	if err != nil {
		t.Fatal(err)
	}
	one, err := s.PurposeKey(t.Context(), "test")
	if err != nil || len(one) != 32 {
		t.Fatal(one, err)
	}
	id := s.SubscriptionID("list", "a@b.example")
	backup := filepath.Join(t.TempDir(), "backup")
	if err := errors.Join(s.Backup(t.Context(), backup), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := CheckBackup(t.Context(), backup, key); err != nil {
		t.Errorf("the backup: %v", err)
	}
	if err := CheckBackup(t.Context(), backup, nil); !errors.Is(err, ErrMasterKey) {
		t.Errorf("the backup without a master key: %v", err)
	}
	key[0]++
	if err := CheckBackup(t.Context(), backup, key); !errors.Is(err, ErrMasterKey) {
		t.Errorf("the backup with another master key: %v", err)
	}
	if _, err := open(t.Context(), Options{Path: path, MasterKey: key}); !errors.Is(err, ErrMasterKey) {
		t.Fatalf("another master key: %v", err)
	}
	key[0]--
	s, err = open(t.Context(), Options{Path: path, MasterKey: key})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	two, err := s.PurposeKey(t.Context(), "test")
	if err != nil || string(one) != string(two) || s.SubscriptionID("list", "a@b.example") != id {
		t.Fatal("keys differ after a restart", err)
	}
}

// TestAFailureAmongOperationsThatMayRunAgain checks that the failure of an operation without a savepoint doesn't affect
// other operations: the batch runs again, one operation at a time. It makes no difference whether the operations start
// a transaction or join one.
func TestAFailureAmongOperationsThatMayRunAgain(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	for _, joining := range []bool{false, true} {
		var runs [6]atomic.Int32
		errs := make([]error, len(runs))
		insert := func(i int) func(*Tx) error {
			return func(tx *Tx) error {
				runs[i].Add(1)
				if _, err := tx.Exec("INSERT INTO mark (name, value) VALUES (?, 'x')",
					fmt.Sprint("again", joining, i)); err != nil || i != 2 {
					return err
				}
				return core.ErrConflict
			}
		}
		before := s.Stats().Batches
		var wg sync.WaitGroup
		queue := sync.OnceFunc(func() { // holds the writer until all other operations wait
			for i := range runs {
				do := s.UpdateRepeatable
				if i%2 == 1 {
					do = s.Update
				}
				wg.Go(func() { errs[i] = do(t.Context(), insert(i)) })
			}
			for len(s.writer.interactive) < len(runs) {
				runtime.Gosched()
			}
		})
		if joining {
			must(t, s.UpdateRepeatable(t.Context(), func(*Tx) error { queue(); return nil }))
		} else {
			s.writer.checkpointRequests <- queue
			queue() // returns when all of them wait
		}
		wg.Wait()
		for i := range runs {
			var n int
			must(t, s.Get(t.Context(), &n, "SELECT count(*) FROM mark WHERE name = ?", fmt.Sprint("again", joining, i)))
			if failed := errors.Is(errs[i], core.ErrConflict); failed != (i == 2) || failed == (n == 1) {
				t.Errorf("operation %d: %v, %d rows", i, errs[i], n)
			}
			if i%2 == 1 && runs[i].Load() != 1 {
				t.Errorf("operation %d may run once, and ran %d times", i, runs[i].Load())
			}
		}
		if runs[2].Load() != 2 {
			t.Errorf("the one that failed ran %d times", runs[2].Load())
		}
		if n := s.Stats().Batches - before; n != 1 {
			t.Errorf("%d commits instead of 1", n)
		}
	}
}

// TestACommitTakesOneBulkOperation checks that a commit includes only one bulk operation.
func TestACommitTakesOneBulkOperation(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	before := s.Stats().Batches
	var wg sync.WaitGroup
	must(t, s.Update(t.Context(), func(*Tx) error {
		for range 3 {
			wg.Go(func() {
				if err := s.Bulk(t.Context(), func(*Tx) error { return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		for len(s.writer.bulk) < 3 {
			runtime.Gosched()
		}
		return nil
	}))
	wg.Wait()
	if n := s.Stats().Batches - before; n != 4 {
		t.Errorf("%d commits for three operations and one before", n)
	}
}

// TestOperationsJoinABulkOne checks that operations that arrive during a bulk operation join its commit, unless the
// bulk operation fails and is rolled back.
func TestOperationsJoinABulkOne(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	for _, want := range []error{nil, core.ErrConflict} {
		before := s.Stats().Batches
		var wg sync.WaitGroup
		err := s.Bulk(t.Context(), func(tx *Tx) error {
			if tx.Awaited() {
				t.Error("it is awaited by no one")
			}
			for i, err := range []error{nil, core.ErrConflict} {
				wg.Go(func() {
					got := s.Update(t.Context(), func(tx *Tx) error {
						_, failed := tx.Exec("INSERT INTO mark (name, value) VALUES (?, '')", fmt.Sprint(want, i))
						return errors.Join(failed, err)
					})
					if !errors.Is(got, err) {
						t.Errorf("%v instead of %v", got, err)
					}
				})
			}
			for len(s.writer.interactive) < 2 {
				runtime.Gosched()
			}
			if !tx.Awaited() {
				t.Error("it is awaited")
			}
			_, err := tx.Exec("INSERT INTO mark (name, value) VALUES (?, '')", fmt.Sprint(want, "bulk"))
			return errors.Join(err, want)
		})
		wg.Wait()
		commits, marks := int64(1), 2
		if want != nil {
			commits, marks = 2, 1
		}
		if !errors.Is(err, want) || s.Stats().Batches-before != commits ||
			s.Count("SELECT count(*) FROM mark WHERE value = '' AND name LIKE ?", fmt.Sprint(want, "%")) != marks {
			t.Errorf("%v: %d commits", err, s.Stats().Batches-before)
		}
	}
}

// TestOperationsJoinBeforeTheLateOne checks that an operation that arrives during a bulk operation joins its commit
// even if the commit has a late operation, which still comes last.
func TestOperationsJoinBeforeTheLateOne(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	before := s.Stats().Batches
	var wg sync.WaitGroup
	var order []string
	did := func(name string) func(*Tx) error {
		return func(*Tx) error { order = append(order, name); return nil }
	}
	must(t, s.Update(t.Context(), func(*Tx) error { // the next commit has a bulk and a late operation
		wg.Add(1)
		if err := s.UpdateLate(did("late"), func(err error) { must(t, err); wg.Done() }); err != nil {
			t.Error(err)
		}
		wg.Go(func() {
			must(t, s.Bulk(t.Context(), func(*Tx) error {
				for i := range 2 {
					wg.Go(func() { must(t, s.Update(t.Context(), did("joined"))) })
					for len(s.writer.interactive) <= i {
						runtime.Gosched()
					}
				}
				return did("bulk")(nil)
			}))
		})
		for len(s.writer.bulk) < 1 {
			runtime.Gosched()
		}
		return nil
	}))
	wg.Wait()
	if want := []string{"bulk", "joined", "joined", "late"}; !slices.Equal(order, want) {
		t.Errorf("%v instead of %v", order, want)
	}
	if n := s.Stats().Batches - before; n != 2 {
		t.Errorf("%d commits instead of 2", n)
	}
}

func TestAFullDiskRefusesAndRecovers(t *testing.T) {
	tried := 0
	defer coretest.Held(t, 12, &tried, "writes to a full file")
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	pages := func(n int) {
		t.Helper()
		err := s.Update(t.Context(), func(tx *Tx) error {
			var got int
			return tx.conn.GetContext(t.Context(), &got, fmt.Sprint("PRAGMA max_page_count = ", n))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	pages(1) // SQLite uses the current size instead, so the database is full
	big := make([]byte, 100<<10)
	var wg sync.WaitGroup
	for i := range 20 {
		tried++
		wg.Go(func() {
			if err := put(s, fmt.Sprint("big", i), string(big)); !errors.Is(err, core.ErrUnavailable) {
				t.Errorf("write %d on a full disk: %v", i, err)
			}
		})
	}
	wg.Wait()
	var n int
	if err := s.Get(t.Context(), &n, "SELECT count(*) FROM mark WHERE name LIKE 'big%'"); err != nil || n != 0 {
		t.Errorf("%d rows without an acknowledgement, %v", n, err)
	}
	pages(1 << 30)
	if err := put(s, "big", string(big)); err != nil {
		t.Errorf("after space came back: %v", err)
	}
}
