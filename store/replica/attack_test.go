package replica

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/store/replica/objects"
	"newsletterd/store/replica/objectstest"
)

// newLease returns a lease of a client of the storage. The test sets its clock.
func newLease(t *testing.T, s *objectstest.Server, client string, clock *atomic.Int64) *lease {
	t.Helper()
	bucket, err := objects.Open(s.URL(), objectstest.Env(client))
	must(t, err)
	return &lease{
		bucket: bucket, node: client, place: client, ttl: time.Second, log: slog.New(slog.DiscardHandler),
		clock: func() time.Duration { return time.Duration(clock.Load()) },
	}
}

// TestLogSaysOnceAMinuteThatTheBucketIsOutOfReach checks that a machine that can't reach the bucket keeps trying, and
// logs that once a minute.
func TestLogSaysOnceAMinuteThatTheBucketIsOutOfReach(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	s := objectstest.New(t)
	var clock atomic.Int64
	l := newLease(t, s, "a", &clock)
	var log strings.Builder
	l.ttl, l.log = 10*time.Millisecond, slog.New(slog.NewTextHandler(&log, nil))
	s.Set(objectstest.Faults{Decide: func(objectstest.Request) objectstest.Fault {
		if clock.Add(int64(10*time.Second)) > int64(170*time.Second) {
			stop()
		}
		return objectstest.Fault{Kind: objectstest.Error500}
	}})
	if _, err := l.take(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("take: %v", err)
	}
	if n := strings.Count(log.String(), "this machine keeps trying"); n != 3 {
		t.Errorf("%d warnings in 170 seconds:\n%s", n, &log)
	}
}

// TestRenewalWithALostAnswerIsAsOldAsItIs makes a renewal succeed while its response is lost and the lock object can't
// be read. The next renewal notices that. The lease counts from the first renewal, because another machine has seen the
// lock object unchanged since then.
func TestRenewalWithALostAnswerIsAsOldAsItIs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	var clock atomic.Int64
	l := newLease(t, s, "a", &clock)
	_, err := l.take(ctx, nil)
	must(t, err)
	puts := 0
	s.Set(objectstest.Faults{Decide: func(q objectstest.Request) objectstest.Fault {
		if q.Op == "PUT" {
			puts++
			return objectstest.Fault{Kind: objectstest.LostAnswer}
		}
		return objectstest.Fault{Kind: objectstest.Error500}
	}})
	if err := l.renew(ctx); !errors.Is(err, objects.ErrAmbiguous) {
		t.Fatalf("the first renewal: %v", err)
	}
	clock.Store(int64(700 * time.Millisecond))
	// The second renewal is refused, sees the result of the first, and can't write again.
	s.Set(objectstest.Faults{Decide: func(q objectstest.Request) objectstest.Fault {
		if puts++; q.Op == "PUT" && puts > 2 {
			return objectstest.Fault{Kind: objectstest.Error500}
		}
		return objectstest.Fault{}
	}})
	if err := l.renew(ctx); err == nil {
		t.Error("the second renewal succeeded")
	}
	clock.Store(int64(time.Second)) // another machine can have taken it
	if err := l.check(); !errors.Is(err, ErrStale) {
		t.Errorf("check: %v", err)
	}
	s.Set(objectstest.Faults{})
	must(t, l.renew(ctx))
	must(t, l.check())
}

// TestCopyOfAMachineWaitsForTheLease runs a machine and a copy with the same disk at the same time.
func TestCopyOfAMachineWaitsForTheLease(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	path, copied := filepath.Join(t.TempDir(), "a.db"), filepath.Join(t.TempDir(), "a.db")
	const ttl = 3 * time.Second // a busy computer must not lose it
	a, err := start(ctx, s.URL(), path, ttl)
	must(t, err)
	t.Cleanup(a.die)
	must(t, a.add(ctx, 0))
	for _, ending := range []string{"", "-wal", ".replica"} {
		b, err := os.ReadFile(path + ending)
		must(t, err)
		must(t, os.WriteFile(copied+ending, b, 0o600))
	}
	r, err := New(Options{URL: s.URL(), Env: objectstest.Env("copy"), Path: copied, TTL: ttl})
	must(t, err)
	ctx, cancel := context.WithTimeout(ctx, ttl*3/2)
	defer cancel()
	if err := r.Prepare(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the copy took the lease of a machine that runs: %v", err)
	}
	must(t, a.add(t.Context(), 1))
}

// TestStrayAfterAFileOfALaterHolderIsNoPartOfTheLog checks that a file which a frozen machine puts after those of the
// next holder doesn't count. The next holder then dies before it writes more.
func TestStrayAfterAFileOfALaterHolderIsNoPartOfTheLog(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		for i := range 10 {
			must(t, a.add(ctx, i))
		}
		head := a.ship.txid
		file, err := a.log.fetch(ctx, logFile{0, head, head, 0, time.Time{}})
		must(t, err)
		stray, err := io.ReadAll(file)
		must(t, err)
		a.die()
		b := boot(t, url, filepath.Join(t.TempDir(), "b.db"))
		_, err = b.log.bucket.Put(ctx, b.log.key(0, head+3, head+3), stray, objects.Condition{Absent: true})
		must(t, err)
		must(t, b.add(ctx, 10))
		must(t, b.add(ctx, 11)) // may share a file with the previous number
		end := b.ship.txid
		if end > head+3 {
			t.Skip("the holder had more to write") // a start and two numbers make at most three files
		}
		b.die()
		if end < head+2 {
			_, err = b.log.bucket.Put(ctx, b.log.key(0, end+1, end+1), stray, objects.Condition{Absent: true})
			must(t, err)
		}
		c := boot(t, url, filepath.Join(t.TempDir(), "c.db"))
		wants(t, c.numbers(t), upTo(12))
		if c.at.txid != end {
			t.Errorf("restored up to %d, not to %d", c.at.txid, end)
		}
	})
}

// TestOnlyTheStrayThatWasSeenIsRemoved checks that a late request to remove a stray doesn't remove the file that has
// replaced it.
func TestOnlyTheStrayThatWasSeenIsRemoved(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		must(t, a.add(ctx, 0))
		head := a.ship.txid
		if err := a.removeStray(ctx, logFile{0, head, head, 0, time.Time{}}); !errors.Is(err, ErrLost) {
			t.Errorf("a file of this holder: %v", err)
		}
		key := a.log.key(0, head, head)
		if err := a.log.bucket.Remove(ctx, key, "another"); !errors.Is(err, objects.ErrPrecondition) {
			t.Errorf("removed with another ETag: %v", err)
		}
		info, err := a.log.bucket.Head(ctx, key)
		must(t, err)
		must(t, a.log.bucket.Remove(ctx, key, info.ETag))
		must(t, a.log.bucket.Remove(ctx, key, info.ETag))
		if _, there, err := a.log.exists(ctx, head); there || err != nil {
			t.Errorf("still there: %v, %v", there, err)
		}
	})
}

// TestWhatAStopCouldNotShipIsShippedLater stops a machine while the bucket doesn't respond, or while the log lacks
// something for another reason. The rest must be shipped later.
func TestWhatAStopCouldNotShipIsShippedLater(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	path := filepath.Join(t.TempDir(), "a.db")
	a := boot(t, s.URL(), path)
	must(t, a.add(ctx, 0))
	must(t, a.checkpointAfterCopy(ctx))
	must(t, a.add(ctx, 1))
	// Nothing is being uploaded, and the log lacks this number.
	a.ship.captureMu.Lock()
	_, err := a.db.ExecContext(ctx, "INSERT INTO number VALUES (2, NULL)")
	must(t, err)
	a.ship.captureMu.Unlock()
	must(t, a.Stop())
	must(t, a.db.Close())
	must(t, a.Close(ctx))
	b := boot(t, s.URL(), path)
	if got := b.numbers(t); !slices.Equal(got, upTo(3)) || len(aside(t, path)) > 0 {
		t.Errorf("numbers %v, set aside %v", got, aside(t, path))
	}
	must(t, b.add(ctx, 3))
	// The network is cut: uploads don't arrive.
	s.Set(objectstest.Faults{Decide: func(objectstest.Request) objectstest.Fault {
		return objectstest.Fault{Kind: objectstest.Cut}
	}})
	_, err = b.db.ExecContext(ctx, "INSERT INTO number VALUES (4, NULL)")
	must(t, err)
	b.Committed()
	must(t, b.Stop())
	must(t, b.db.Close())
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = b.Close(short)
	s.Set(objectstest.Faults{})
	c := boot(t, s.URL(), path)
	if got := c.numbers(t); !slices.Equal(got, upTo(5)) || len(aside(t, path)) > 0 {
		t.Errorf("numbers %v, set aside %v", got, aside(t, path))
	}
	must(t, c.add(ctx, 5))
	c.stop(t)
	d := boot(t, s.URL(), filepath.Join(t.TempDir(), "d.db"))
	wants(t, d.numbers(t), upTo(6))
}

// TestCommitAfterAStopIsSeen checks that a commit of another program between the last check of a stop and the closing
// of the file is noticed.
func TestCommitAfterAStopIsSeen(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		path := filepath.Join(t.TempDir(), "a.db")
		a := boot(t, url, path)
		_, err := a.db.ExecContext(ctx, "CREATE TABLE other AS SELECT randomblob(90000) AS filler")
		must(t, err)
		must(t, a.add(ctx, 0))
		must(t, a.checkpointAfterCopy(ctx))
		must(t, a.Stop())
		_, err = a.db.ExecContext(ctx, "UPDATE other SET filler = randomblob(90000)")
		must(t, err)
		must(t, a.db.Close())
		must(t, a.Close(ctx))
		b := boot(t, url, path)
		must(t, b.add(ctx, 1))
		local := other(t, b)
		b.die()
		c := boot(t, url, filepath.Join(t.TempDir(), "c.db"))
		if got := c.numbers(t); !slices.Equal(got, upTo(2)) || other(t, c) != local {
			t.Errorf("the replica has other content than the machine, and numbers %v", got)
		}
	})
}

// TestKilledBetweenTheHeaderOfTheWALAndItsFirstCommit kills a machine just after SQLite has written the header of a new
// -wal, before its first commit.
func TestKilledBetweenTheHeaderOfTheWALAndItsFirstCommit(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		for i := range 3 {
			must(t, a.add(ctx, i))
		}
		must(t, a.checkpointAfterCopy(ctx))
		old, err := os.ReadFile(a.path + "-wal")
		must(t, err)
		a.ship.captureMu.Lock() // nothing written from now on is shipped
		_, err = a.db.ExecContext(ctx, "INSERT INTO number VALUES (9, NULL)")
		must(t, err)
		anew, err := os.ReadFile(a.path + "-wal")
		must(t, err)
		main, err := os.ReadFile(a.path)
		must(t, err)
		a.cancel(errors.New("killed"))
		a.ship.captureMu.Unlock()
		a.die()
		path := filepath.Join(t.TempDir(), "b.db")
		must(t, os.WriteFile(path, main, 0o600))
		must(t, os.WriteFile(path+"-wal", slices.Concat(anew[:walHeader], old[walHeader:]), 0o600))
		b := boot(t, url, path)
		if b.restored {
			t.Error("the file was restored although it continues the log")
		}
		must(t, b.add(ctx, 3))
		b.die()
		wants(t, boot(t, url, filepath.Join(t.TempDir(), "c.db")).numbers(t), upTo(4))
	})
}

func other(t *testing.T, m *machine) (filler string) {
	t.Helper()
	must(t, m.db.QueryRowContext(t.Context(), "SELECT hex(filler) FROM other").Scan(&filler))
	return filler
}

// TestSnapshotWhileTheWALBeginsAnew restarts the -wal during a whole copy of a database that was entirely in the
// database file.
func TestSnapshotWhileTheWALBeginsAnew(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	a := boot(t, s.URL(), filepath.Join(t.TempDir(), "a.db"))
	for i := range 40 {
		must(t, a.add(ctx, i))
	}
	must(t, a.checkpointAfterCopy(ctx))
	a.ship.captureMu.Lock()
	end, txid := a.ship.end, a.ship.txid
	w, err := a.ship.wholeAt(a.ship.files, end)
	a.ship.captureMu.Unlock()
	must(t, err)
	for i := 40; i < 80; i++ {
		must(t, a.add(ctx, i))
	}
	var b bytes.Buffer
	h := (&changed{to: end}).header(txid, 1)
	h.MinTXID, h.WALOffset, h.WALSize, h.WALSalt1, h.WALSalt2 = 1, 0, 0, 0, 0
	must(t, w.encode(&b, h, pagesFrom(1, end.pages)))
	path := filepath.Join(t.TempDir(), "at.db")
	f, err := os.Create(path)
	must(t, err)
	must(t, applyOne(f, &b))
	must(t, f.Close())
	db, err := sql.Open("sqlite", "file:"+path)
	must(t, err)
	defer db.Close()
	wants(t, numbers(t, db), upTo(40))
}

// TestCompactionWithALateListing checks that compaction doesn't skip files that an outdated listing doesn't show,
// because those would be removed later.
func TestCompactionWithALateListing(t *testing.T) {
	t.Parallel()
	files := func(ranges ...uint64) (all []logFile) {
		for i := 0; i < len(ranges); i += 2 {
			all = append(all, logFile{0, ranges[i], ranges[i+1], 1, time.Time{}})
		}
		return all
	}
	for _, c := range []struct {
		below, want  []logFile
		end, through uint64
	}{
		{files(1, 1, 2, 2, 3, 3), files(1, 1, 2, 2, 3, 3), 0, 9},
		{files(1, 1, 2, 2, 3, 3), files(1, 1, 2, 2), 0, 2},
		{files(2, 2, 3, 3, 4, 4), nil, 0, 9},
		{files(5, 5, 7, 7, 8, 8), files(5, 5), 4, 9},
		{files(6, 6, 7, 7, 8, 8), nil, 4, 9},
		{files(1, 10, 1, 15, 11, 12, 16, 20), files(1, 15, 16, 20), 10, 20},
	} {
		if got := following(c.below, c.end, c.through, 1); !slices.Equal(got, c.want) {
			t.Errorf("%v after %d up to %d: %v", c.below, c.end, c.through, got)
		}
	}
}

// TestLateListingIsNoShorterLog checks a listing that doesn't show a compacted file whose source files are gone. The
// log must not count as shorter or empty.
func TestLateListingIsNoShorterLog(t *testing.T) {
	t.Parallel()
	for _, count := range []int{3, 30} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s := objectstest.New(t)
			a := boot(t, s.URL(), filepath.Join(t.TempDir(), "a.db"))
			for i := range count {
				must(t, a.add(ctx, i))
			}
			_, err := a.log.compact(ctx, 1, a.ship.arrived, a.ship.recentBody)
			must(t, err)
			must(t, a.add(ctx, count))
			must(t, a.log.sweep(ctx, time.Now().Add(time.Hour), time.Now().Add(-time.Hour)))
			must(t, a.lease.renew(ctx))
			a.die()
			late := map[string][]byte{}
			for _, key := range s.Keys() {
				if strings.Contains(key, "/0001/") {
					late[key], _ = s.Object(key)
					s.Remove(key)
				}
			}
			s.Set(objectstest.Faults{Stale: testTTL * 4 / 3})
			for key, body := range late {
				s.Store(key, body)
			}
			b := boot(t, s.URL(), filepath.Join(t.TempDir(), "b.db"))
			wants(t, b.numbers(t), upTo(count+1))
		})
	}
}

// TestLockThatWasRemoved deletes the lock object, and with it the generation.
func TestLockThatWasRemoved(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	path := filepath.Join(t.TempDir(), "a.db")
	for i := range 3 {
		a := boot(t, s.URL(), path)
		must(t, a.add(ctx, i))
		a.stop(t)
	}
	s.Remove("replica/" + lockKey)
	b := boot(t, s.URL(), filepath.Join(t.TempDir(), "b.db"))
	if b.Generation() < 4 {
		t.Errorf("generation %d after 3", b.Generation())
	}
	must(t, b.add(ctx, 3))
	must(t, b.lease.renew(ctx))
	b.stop(t)
	c := boot(t, s.URL(), filepath.Join(t.TempDir(), "c.db"))
	wants(t, c.numbers(t), upTo(4))
}

// TestStopInTheMiddleOfAWholeCopy checks that a stop doesn't wait for the end of a whole copy.
func TestStopInTheMiddleOfAWholeCopy(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	path := filepath.Join(t.TempDir(), "a.db")
	largeFile(t, path, 12)
	a := boot(t, s.URL(), path)
	must(t, a.add(ctx, 10))
	a.stop(t)
	b, err := startMigrated(ctx, s.URL(), path)
	must(t, err)
	want := sumOfLarge(t, path)
	reached := hangsFiles(s)
	_, err = b.db.ExecContext(ctx, "INSERT INTO number VALUES (11, NULL)")
	must(t, err)
	b.Committed()
	_ = b.Wait(within(t, 100*time.Millisecond))
	<-reached
	if err := b.checkpoint(ctx); !errors.Is(err, errSnapshot) {
		t.Errorf("a checkpoint in the middle of a copy: %v", err)
	}
	if b.Stats().Lag == 0 {
		t.Error("the storage lacks nothing")
	}
	began := time.Now()
	must(t, b.Stop())
	must(t, b.db.Close())
	must(t, b.Close(ctx))
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the stop took %s", took)
	}
	s.Set(objectstest.Faults{})
	c := boot(t, s.URL(), path)
	if len(aside(t, path)) != 1 { // the log lacks the changes of the migration
		t.Errorf("set aside: %v", aside(t, path))
	}
	if got := c.numbers(t); !slices.Equal(got, upTo(11)) || sumOfLarge(t, path) == want {
		t.Errorf("numbers %v", got)
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// TestStopWhileACopyWaits checks that a stop doesn't wait for a whole copy that waits for uploads.
func TestStopWhileACopyWaits(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	path := filepath.Join(t.TempDir(), "a.db")
	a := boot(t, s.URL(), path)
	must(t, a.add(ctx, 0))
	reached := hangsFiles(s)
	_, err := a.db.ExecContext(ctx, "INSERT INTO number VALUES (1, NULL)")
	must(t, err)
	a.Committed()
	_ = a.Wait(within(t, 100*time.Millisecond))
	<-reached
	copied, stopped := make(chan error, 1), make(chan error, 1)
	go func() { copied <- a.ship.snapshot(a.ctx) }()
	for a.ship.still.TryLock() {
		a.ship.still.Unlock()
		must(t, pause(ctx, time.Millisecond))
	}
	must(t, pause(ctx, 50*time.Millisecond)) // it waits and holds the lock of the -wal
	go func() { stopped <- a.Stop() }()
	select {
	case err := <-stopped:
		must(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("the stop waits")
	}
	if err := <-copied; !errors.Is(err, context.Canceled) {
		t.Errorf("the copy: %v", err)
	}
	must(t, a.db.Close())
	must(t, a.Close(ctx))
	s.Set(objectstest.Faults{})
	b := boot(t, s.URL(), path)
	if got := b.numbers(t); !slices.Equal(got, upTo(2)) || len(aside(t, path)) > 0 {
		t.Errorf("numbers %v, set aside %v", got, aside(t, path))
	}
}

// hangsFiles makes all uploads of log files hang from now on, and reports each attempt on the channel.
func hangsFiles(s *objectstest.Server) (reached <-chan struct{}) {
	tried := make(chan struct{}, 8)
	s.Set(objectstest.Faults{Decide: func(q objectstest.Request) objectstest.Fault {
		if q.Op == "PUT" && strings.Contains(q.Key, "/0000/") {
			select {
			case tried <- struct{}{}:
			default: // a retry
			}
			return objectstest.Fault{Kind: objectstest.Hang}
		}
		return objectstest.Fault{}
	}})
	return tried
}
