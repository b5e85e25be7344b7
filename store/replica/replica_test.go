package replica

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/store/replica/objectstest"
)

// machine is a computer with a disk of its own that serves the database of a replica.
type machine struct {
	*Replica
	db   *sql.DB
	lost chan error
	lane sync.Mutex // serializes writers
}

// testTTL is short, but long enough for a slow computer.
const testTTL = 2 * time.Second

func start(ctx context.Context, url, path string, ttl time.Duration) (*machine, error) {
	return startAfter(ctx, url, path, ttl, func() error { return nil })
}

// startAfter calls before after taking the lease and before opening the database.
func startAfter(ctx context.Context, url, path string, ttl time.Duration, before func() error) (*machine, error) {
	return startAs(ctx, "test", url, path, ttl, before)
}

// startAs is like startAfter, with the keys of a given client of the storage.
func startAs(
	ctx context.Context, client, url, path string, ttl time.Duration, before func() error,
) (*machine, error) {
	m := &machine{lost: make(chan error, 1)}
	r, err := New(Options{
		URL: url, Env: objectstest.Env(client), Path: path, TTL: ttl,
		Failed: func(err error) { m.lost <- err },
	})
	if err != nil {
		return nil, err
	}
	m.Replica = r
	r.tidyEvery = time.Hour // tests call upkeep themselves
	if err := r.Prepare(ctx); err != nil {
		return nil, err
	}
	if err := before(); err != nil {
		return nil, err
	}
	m.db, err = sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=wal_autocheckpoint(0)"+
		"&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	m.db.SetMaxOpenConns(1)
	m.db.SetMaxIdleConns(1)
	if err := m.db.PingContext(ctx); err != nil {
		return nil, err
	}
	if err := r.Start(ctx); err != nil {
		return nil, err
	}
	_, err = m.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS number (n INTEGER PRIMARY KEY, filler BLOB)")
	return m, err
}

// startAgain is like start, but starts again if the computer was too slow to renew the lease, as a real machine would.
func startAgain(ctx context.Context, url, path string, ttl time.Duration) (*machine, error) {
	m, err := start(ctx, url, path, ttl)
	for try := 0; errors.Is(err, ErrStale) && try < 10; try++ {
		m, err = start(ctx, url, path, ttl)
	}
	return m, err
}

func boot(t *testing.T, url, path string) *machine {
	t.Helper()
	m, err := startAgain(t.Context(), url, path, testTTL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.die)
	return m
}

// wants compares the numbers in a database with those expected.
func wants(t *testing.T, got, want []int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("numbers %v, not %v", got, want)
	}
}

// cutOff makes all requests of a client fail, as if its network were cut.
func cutOff(s *objectstest.Server, client string) {
	s.Set(objectstest.Faults{Decide: func(q objectstest.Request) objectstest.Fault {
		if q.Client == client {
			return objectstest.Fault{Kind: objectstest.Cut}
		}
		return objectstest.Fault{}
	}})
}

// die ends the machine without telling the bucket, like a power failure.
func (m *machine) die() {
	m.cancel(errors.New("dead"))
	m.loops.Wait()
	m.ship.loops.Wait()
	_ = m.gate.Close()
	_ = m.db.Close()
}

// add writes a number and returns when it is in the replica.
func (m *machine) add(ctx context.Context, n int) error {
	m.lane.Lock()
	_, err := m.db.ExecContext(ctx, "INSERT INTO number VALUES (?, randomblob(500))", n)
	m.Committed()
	m.lane.Unlock()
	if err != nil {
		return err
	}
	return m.Wait(ctx)
}

// checkpoint moves the -wal into the file, like the store's writer.
func (m *machine) checkpoint(ctx context.Context) error {
	m.lane.Lock()
	defer m.lane.Unlock()
	return m.Checkpoint(ctx, func() error {
		var busy, frames, moved int
		return m.db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &frames, &moved)
	})
}

// checkpointAfterCopy runs a checkpoint when no whole copy is in progress.
func (m *machine) checkpointAfterCopy(ctx context.Context) error {
	for {
		err := m.checkpoint(ctx)
		if !errors.Is(err, errSnapshot) {
			return err
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

// stop shuts a machine down properly.
func (m *machine) stop(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	must(t, m.checkpointAfterCopy(ctx))
	must(t, m.Stop())
	must(t, m.db.Close())
	must(t, m.Close(ctx))
}

func (m *machine) numbers(t *testing.T) []int {
	t.Helper()
	return numbers(t, m.db)
}

func numbers(t *testing.T, db *sql.DB) (all []int) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT n FROM number ORDER BY n")
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var n int
		must(t, rows.Scan(&n))
		all = append(all, n)
	}
	must(t, rows.Err())
	var whole string
	must(t, db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&whole))
	if whole != "ok" {
		t.Errorf("integrity_check: %s", whole)
	}
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// each runs a test with both kinds of buckets.
func each(t *testing.T, test func(t *testing.T, url string)) {
	t.Parallel()
	t.Run("s3", func(t *testing.T) { t.Parallel(); test(t, objectstest.New(t).URL()) })
	t.Run("folder", func(t *testing.T) { t.Parallel(); test(t, "file://"+t.TempDir()) })
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func TestEmptyDiskGetsAllThatWasAcknowledged(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		for i := range 300 {
			must(t, a.add(ctx, i))
			if i%70 == 50 {
				must(t, a.checkpointAfterCopy(ctx))
			}
		}
		a.die()
		if a.ship.wholes != 1 { // the initial one
			t.Errorf("the whole database was copied %d times", a.ship.wholes)
		}
		b := boot(t, url, filepath.Join(t.TempDir(), "b.db"))
		if !b.Restored() || b.Generation() != a.mineGeneration()+1 {
			t.Errorf("restored %v, generation %d after %d", b.Restored(), b.Generation(), a.mineGeneration())
		}
		if got := b.numbers(t); !slices.Equal(got, upTo(300)) {
			t.Fatalf("%d numbers", len(got))
		}
		must(t, b.add(ctx, 300))
		b.stop(t)
		c := boot(t, url, filepath.Join(t.TempDir(), "c.db"))
		if got := c.numbers(t); !slices.Equal(got, upTo(301)) {
			t.Errorf("%d numbers", len(got))
		}
	})
}

func (m *machine) mineGeneration() uint64 { return m.lease.generation() }

func TestCleanStopIsFollowedByNoCopyOfTheWhole(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		path := filepath.Join(t.TempDir(), "a.db")
		a := boot(t, url, path)
		for i := range 2000 {
			_, err := a.db.ExecContext(ctx, "INSERT INTO number VALUES (?, randomblob(3000))", i)
			must(t, err)
		}
		a.Committed()
		must(t, a.Wait(ctx))
		a.stop(t)
		if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
			t.Error("a -wal is left")
		}
		b := boot(t, url, path)
		must(t, b.add(ctx, 2000))
		if b.Restored() || len(aside(t, path)) > 0 {
			t.Error("the file was not taken as it was")
		}
		b.ship.mu.Lock()
		kept := b.ship.kept
		b.ship.mu.Unlock()
		if kept > 1<<20 {
			t.Errorf("%d bytes were shipped at the start", kept)
		}
		if got := b.numbers(t); len(got) != 2001 {
			t.Errorf("%d numbers", len(got))
		}
	})
}

func aside(t *testing.T, path string) []string {
	t.Helper()
	found, err := filepath.Glob(path + ".superseded-*")
	must(t, err)
	return found
}

func TestOldMachineReturnsWithItsFile(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		path := filepath.Join(t.TempDir(), "a.db")
		a := boot(t, url, path)
		for i := range 20 {
			must(t, a.add(ctx, i))
		}
		a.die()
		b := boot(t, url, filepath.Join(t.TempDir(), "b.db"))
		for i := 20; i < 40; i++ {
			must(t, b.add(ctx, i))
		}
		b.stop(t)
		again := boot(t, url, path)
		wants(t, again.numbers(t), upTo(40))
		if !again.Restored() || len(aside(t, path)) == 0 {
			t.Error("the old file was not set aside")
		}
	})
}

func TestFileThatStoodAloneIsAdopted(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		path := filepath.Join(t.TempDir(), "a.db")
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)")
		must(t, err)
		_, err = db.ExecContext(ctx, "CREATE TABLE number (n INTEGER PRIMARY KEY, filler BLOB); INSERT INTO number VALUES (0, "+
			"randomblob(90000))")
		must(t, err)
		must(t, db.Close())
		a := boot(t, url, path)
		must(t, a.add(ctx, 1))
		a.die()
		b := boot(t, url, filepath.Join(t.TempDir(), "b.db"))
		wants(t, b.numbers(t), upTo(2))
	})
}

// TestForeignCheckpointLosesNothing makes another program run its own checkpoint, so that the -wal restarts without the
// replica noticing.
func TestForeignCheckpointLosesNothing(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		for i := range 20 {
			must(t, a.add(ctx, i))
		}
		_, err := a.db.ExecContext(ctx, "CREATE TABLE other AS SELECT randomblob(9000) AS filler")
		must(t, err)
		_, err = a.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
		must(t, err)
		for i := 20; i < 23; i++ {
			must(t, a.add(ctx, i))
		}
		a.die()
		b := boot(t, url, filepath.Join(t.TempDir(), "b.db"))
		wants(t, b.numbers(t), upTo(23))
		var size int
		if err := b.db.QueryRowContext(ctx, "SELECT length(filler) FROM other").Scan(&size); err != nil || size != 9000 {
			t.Errorf("%d bytes in the other table: %v", size, err)
		}
	})
}

// TestCommitBeforeACheckpointIsNotLost makes a command commit just before the checkpoint locks out writers.
func TestCommitBeforeACheckpointIsNotLost(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		for i := range 20 {
			must(t, a.add(ctx, i))
		}
		must(t, a.ship.checkpoint(ctx, func() (func(), error) {
			_, err := a.db.ExecContext(ctx, "CREATE TABLE other AS SELECT randomblob(9000) AS filler")
			return func() {}, err
		}, func() error {
			_, err := a.db.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
			return err
		}))
		must(t, a.add(ctx, 20))
		a.die()
		b := boot(t, url, filepath.Join(t.TempDir(), "b.db"))
		wants(t, b.numbers(t), upTo(21))
		var size int
		if err := b.db.QueryRowContext(ctx, "SELECT length(filler) FROM other").Scan(&size); err != nil || size != 9000 {
			t.Errorf("%d bytes in the other table: %v", size, err)
		}
	})
}

// TestCopiedDiskIsSetAside copies the disk of a running machine, and writes to the copy without the replica. Its -wal
// has the salts of the last file of the log, but a different history.
func TestCopiedDiskIsSetAside(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		path, clone := filepath.Join(t.TempDir(), "a.db"), filepath.Join(t.TempDir(), "clone.db")
		a := boot(t, url, path)
		for i := range 10 {
			must(t, a.add(ctx, i))
		}
		for _, ending := range []string{"", "-wal", ".replica"} {
			b, err := os.ReadFile(path + ending)
			must(t, err)
			must(t, os.WriteFile(clone+ending, b, 0o600))
		}
		for i := 10; i < 15; i++ {
			must(t, a.add(ctx, i))
		}
		a.die()
		must(t, exec.CommandContext(ctx, "cp", clone, clone+".before").Run())
		db, err := sql.Open("sqlite", "file:"+clone+"?_pragma=wal_autocheckpoint(0)")
		must(t, err)
		db.SetMaxOpenConns(1)
		for i := range 40 {
			_, err := db.ExecContext(ctx, "INSERT INTO number VALUES (?, randomblob(500))", 1000+i)
			must(t, err)
		}
		wal, err := os.ReadFile(clone + "-wal")
		must(t, err)
		must(t, db.Close())
		must(t, os.Rename(clone+".before", clone))
		must(t, os.WriteFile(clone+"-wal", wal, 0o600))
		c := boot(t, url, clone)
		wants(t, c.numbers(t), upTo(15))
		if len(aside(t, clone)) == 0 {
			t.Error("the copy was not set aside")
		}
	})
}

func TestWhoLosesTheLeaseAnswersNothingMore(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	a := boot(t, s.URL(), filepath.Join(t.TempDir(), "a.db"))
	must(t, a.add(ctx, 0))
	cutOff(s, "test")
	_, err := a.db.ExecContext(ctx, "INSERT INTO number VALUES (1, NULL)")
	must(t, err)
	a.Committed()
	answered := make(chan error, 1)
	a.After(func(err error) { answered <- err })

	r, err := New(Options{
		URL: s.URL(), Env: objectstest.Env("other"), Path: filepath.Join(t.TempDir(), "b.db"),
		TTL: testTTL,
	})
	must(t, err)
	waited := 0
	r.opts.Waiting = func(string, bool) error { waited++; return nil }
	must(t, r.Prepare(ctx))
	if waited == 0 {
		t.Error("the lease was taken at once")
	}
	if err := a.Check(); !errors.Is(err, ErrStale) {
		t.Errorf("the first machine's lease: %v", err)
	}
	select {
	case err := <-answered:
		t.Fatalf("answered: %v", err)
	default:
	}
	s.Set(objectstest.Faults{}) // the network is back
	if err := <-a.lost; !errors.Is(err, ErrLost) {
		t.Errorf("failed: %v", err)
	}
	if err := <-answered; !errors.Is(err, ErrLost) {
		t.Errorf("answered: %v", err)
	}
	if err := a.Check(); !errors.Is(err, ErrLost) {
		t.Errorf("check: %v", err)
	}
	must(t, r.Close(ctx))
}

func TestFaultsOfTheBucket(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]objectstest.Faults{
		// The faults have no period: each attempt of a renewal sends the same number of requests, and would get the
		// same errors.
		"errors": {Decide: func(q objectstest.Request) objectstest.Fault {
			return objectstest.Fault{Kind: []objectstest.Kind{
				0, objectstest.Error500, 0, objectstest.Cut, 0, 0, objectstest.Error503,
			}[uint32(q.Nth)*2654435761>>16%7]}
		}},
		"lost answers": {Decide: func(q objectstest.Request) objectstest.Fault {
			if q.Nth%3 == 0 && q.Op == "PUT" {
				return objectstest.Fault{Kind: objectstest.LostAnswer}
			}
			return objectstest.Fault{}
		}},
		"late listings": {Stale: time.Hour},
		"far away":      {Latency: 15 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s := objectstest.New(t)
			a := boot(t, s.URL(), filepath.Join(t.TempDir(), "a.db"))
			s.Set(faults)
			for i := range 40 {
				must(t, a.add(ctx, i))
			}
			must(t, a.checkpointAfterCopy(ctx))
			must(t, a.add(ctx, 40))
			a.die()
			if strings.Contains(name, "error") {
				s.Set(objectstest.Faults{})
			}
			b := boot(t, s.URL(), filepath.Join(t.TempDir(), "b.db"))
			wants(t, b.numbers(t), upTo(41))
		})
	}
}

// TestStraysOfTheHolderBefore checks that files which a machine sent too late, and never acknowledged, are replaced by
// those of the next holder.
func TestStraysOfTheHolderBefore(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	a := boot(t, s.URL(), filepath.Join(t.TempDir(), "a.db"))
	for i := range 10 {
		must(t, a.add(ctx, i))
	}
	head := a.ship.txid
	stray, _ := s.Object("replica/" + a.log.key(0, head, head))
	a.die()
	b := boot(t, s.URL(), filepath.Join(t.TempDir(), "b.db"))
	for i := range uint64(3) {
		s.Store("replica/"+b.log.key(0, b.ship.txid+1+i, b.ship.txid+1+i), stray)
	}
	for i := 10; i < 15; i++ {
		must(t, b.add(ctx, i))
	}
	b.die()
	c := boot(t, s.URL(), filepath.Join(t.TempDir(), "c.db"))
	wants(t, c.numbers(t), upTo(15))
}

func TestDamagedLogIsRefused(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	a := boot(t, s.URL(), filepath.Join(t.TempDir(), "a.db"))
	for i := range 30 {
		must(t, a.add(ctx, i))
	}
	a.die()
	s.Remove("replica/" + a.log.key(0, 10, 10))
	path := filepath.Join(t.TempDir(), "b.db")
	if _, err := start(ctx, s.URL(), path, testTTL); !errors.Is(err, ErrGap) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file was made all the same")
	}
}

func ExampleReplica() {
	r, err := New(Options{URL: "https://example.org", Path: "newsletterd.db"})
	fmt.Println(r == nil, err)
	// Output: true must start with s3:// or file:///
}
