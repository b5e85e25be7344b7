package replica

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/store/replica/objects"
	"newsletterd/store/replica/objectstest"
)

// largeFile writes a database with size MiB of incompressible data, and the numbers below ten.
func largeFile(t *testing.T, path string, size int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)")
	must(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, q := range []string{
		"CREATE TABLE number (n INTEGER PRIMARY KEY, filler BLOB)",
		"WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < 9) INSERT INTO number SELECT n, " +
			"randomblob(500) FROM c",
		"CREATE TABLE large (n INTEGER PRIMARY KEY, filler BLOB)",
		fmt.Sprintf("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < %d) INSERT INTO large "+
			"SELECT n, randomblob(4000) FROM c", size<<20/4096),
	} {
		_, err := db.ExecContext(t.Context(), q)
		must(t, err)
	}
}

// startMigrated starts a machine after changing every page of the large table, and leaves no -wal, like a store that
// migrates the schema.
func startMigrated(ctx context.Context, url, path string) (*machine, error) {
	return startAfter(ctx, url, path, testTTL, func() error {
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(OFF)")
		if err != nil {
			return err
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		_, err = db.ExecContext(ctx, "UPDATE large SET filler = randomblob(4000)")
		return err
	})
}

// serveMigrated runs startMigrated and serves until it is killed.
func serveMigrated(url, path string) {
	ctx := context.Background()
	m, err := startMigrated(ctx, url, path)
	if err == nil {
		err = m.add(ctx, 1000)
	}
	fmt.Println("error", err)
	os.Exit(1)
}

// sumOfLarge returns a checksum of the large table.
func sumOfLarge(t *testing.T, path string) (sum string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	must(t, err)
	defer db.Close()
	must(t, db.QueryRowContext(t.Context(), "SELECT count(*) || ' ' || group_concat(hex(substr(filler, 1, 8))) FROM large").
		Scan(&sum))
	return sum
}

// heapPeak runs fn, and returns the growth of the heap in MiB.
func heapPeak(fn func()) int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, peak := m.HeapAlloc, m.HeapAlloc
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapAlloc)
			}
		}
	}()
	fn()
	close(done)
	<-ended
	return int((peak - before) >> 20)
}

// TestLargeDatabaseIsShippedInLittleMemory ships a database for the first time and again after a migration. It doesn't
// run in parallel with other tests, because it measures the heap.
func TestLargeDatabaseIsShippedInLittleMemory(t *testing.T) {
	size := 100
	if testing.Short() {
		size = 48
	}
	ctx := t.Context()
	url := "file://" + t.TempDir()
	path := filepath.Join(t.TempDir(), "a.db")
	largeFile(t, path, size)
	var a *machine
	const most = 64
	if peak := heapPeak(func() { a = boot(t, url, path) }); peak > most {
		t.Errorf("the first copy took %d MiB of heap, for %d MiB", peak, size)
	}
	must(t, a.add(ctx, 10))
	a.stop(t)
	var b *machine
	peak := heapPeak(func() {
		var err error
		b, err = startMigrated(ctx, url, path)
		must(t, err)
		must(t, b.add(ctx, 11))
	})
	t.Cleanup(b.die)
	if peak > most {
		t.Errorf("the copy after the migration took %d MiB of heap, for %d MiB", peak, size)
	}
	t.Logf("%d MiB of heap at most", peak)
	want := sumOfLarge(t, path)
	must(t, b.add(ctx, 12))
	b.die()
	c := boot(t, url, filepath.Join(filepath.Dir(path), "c.db"))
	wants(t, c.numbers(t), upTo(13))
	if sumOfLarge(t, c.path) != want {
		t.Error("the large table is another one")
	}
}

// TestKilledInTheMiddleOfAWholeCopy kills a machine during a whole copy, at its first start and after a migration, and
// continues with and without its disk.
func TestKilledInTheMiddleOfAWholeCopy(t *testing.T) {
	t.Parallel()
	for _, migrated := range []bool{false, true} {
		for _, disk := range []bool{true, false} {
			for _, last := range []bool{false, true} { // the file that makes the others count is being uploaded
				t.Run(fmt.Sprintf("migrated=%v/disk=%v/last=%v", migrated, disk, last), func(t *testing.T) {
					t.Parallel()
					killedInACopy(t, migrated, disk, last)
				})
			}
		}
	}
}

func killedInACopy(t *testing.T, migrated, disk, last bool) {
	s := objectstest.New(t)
	path := filepath.Join(t.TempDir(), "a.db")
	largeFile(t, path, 20)
	want := sumOfLarge(t, path)
	head := uint64(0)
	if migrated {
		a := boot(t, s.URL(), path)
		must(t, a.add(t.Context(), 10))
		head = a.ship.txid
		a.stop(t)
	}
	bucket, err := objects.Open(s.URL(), objectstest.Env("test"))
	must(t, err)
	first := "replica/" + logFiles{bucket: bucket}.key(0, head+1, head+1)
	third := "replica/" + logFiles{bucket: bucket}.key(0, head+3, head+3)
	reached := make(chan struct{}, 8)
	s.Set(objectstest.Faults{Decide: func(q objectstest.Request) objectstest.Fault {
		if q.Op == "PUT" && (q.Key == first || q.Key == third && !last) {
			select {
			case reached <- struct{}{}:
			default: // a retry
			}
			return objectstest.Fault{Kind: objectstest.Hang}
		}
		return objectstest.Fault{}
	}})
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(append(os.Environ(), "REPLICA_MACHINE="+s.URL(), "REPLICA_PATH="+path,
		fmt.Sprint("REPLICA_MIGRATES=", migrated)), objectstest.Environ("test")...)
	c.Stderr = os.Stderr
	must(t, c.Start())
	<-reached
	parts := 0
	for _, key := range s.Keys() {
		if strings.Contains(key, "/0000/") {
			parts++
		}
	}
	must(t, c.Process.Kill())
	_ = c.Wait()
	s.CutConnections()
	s.Set(objectstest.Faults{})
	if last && parts < 5 {
		t.Errorf("%d files were there before the one that makes them count", parts)
	}
	if !disk {
		path = filepath.Join(t.TempDir(), "b.db")
	}
	b := boot(t, s.URL(), path)
	switch _, err := os.Stat(path); {
	case !disk && !migrated: // the bucket never had anything
		must(t, b.add(t.Context(), 0))
		wants(t, b.numbers(t), upTo(1))
		return
	case err != nil:
		t.Fatal(err)
	}
	n := len(b.numbers(t))
	must(t, b.add(t.Context(), n))
	b.die()
	d := boot(t, s.URL(), filepath.Join(t.TempDir(), "d.db"))
	if got := d.numbers(t); !slices.Equal(got, upTo(n+1)) || n < 10 {
		t.Errorf("numbers %v", got)
	}
	if got := sumOfLarge(t, d.path); got != want {
		t.Error("the large table is another one")
	}
}
