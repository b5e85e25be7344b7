package replica

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/store/replica/objectstest"
)

func TestCompactedLogRestoresTheSame(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		none := func(uint64) []byte { return nil }
		levelUp := func(level int) {
			t.Helper()
			made, err := a.log.compact(ctx, level, a.ship.txid, none)
			must(t, err)
			if made.max == 0 {
				t.Errorf("level %d: nothing was compacted", level)
			}
		}
		n := 0
		more := func() {
			for range 12 {
				must(t, a.add(ctx, n))
				n++
			}
		}
		for range 3 {
			for range 2 {
				more()
				levelUp(1)
			}
			must(t, a.checkpointAfterCopy(ctx))
			levelUp(2)
		}
		levelUp(3)
		must(t, a.log.sweep(ctx, time.Now().Add(time.Hour), time.Now().Add(-time.Hour)))
		rest, err := a.log.list(ctx, 0)
		must(t, err)
		if len(rest) != 1 {
			t.Errorf("%d files of level 0 are left", len(rest))
		}
		more()
		between := n
		must(t, a.ship.snapshot(ctx))
		snapshot := a.ship.txid
		more()
		must(t, a.log.sweep(ctx, time.Now().Add(time.Hour), time.Now().Add(time.Hour)))
		for level := range levels {
			files, err := a.log.list(ctx, level)
			must(t, err)
			for _, f := range files[:max(0, len(files)-1)] {
				if level > 0 && f.max < snapshot {
					t.Errorf("level %d: %d to %d is left", level, f.min, f.max)
				}
			}
		}
		a.die()

		to := filepath.Join(t.TempDir(), "at.db")
		end, err := a.log.restore(ctx, to, snapshot, time.Time{})
		must(t, err)
		if end != snapshot {
			t.Errorf("restored to %d, not to %d", end, snapshot)
		}
		b := boot(t, url, filepath.Join(t.TempDir(), "b.db"))
		if got := b.numbers(t); !slices.Equal(got, upTo(n)) || n == between {
			t.Errorf("numbers %v", got)
		}
	})
}

func TestCompactionLeavesOutWhatHasNotArrived(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		for i := range 10 {
			must(t, a.add(ctx, i))
		}
		through := a.ship.txid - 3
		_, err := a.log.compact(ctx, 1, through, a.ship.recentBody)
		must(t, err)
		files, err := a.log.list(ctx, 1)
		must(t, err)
		if len(files) != 1 || files[0].max != through {
			t.Errorf("compacted: %+v, through %d", files, through)
		}
	})
}

func TestCompactionWaitsWhileMuchIsShipped(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		n := 0
		for _, c := range []struct {
			since   time.Duration
			shipped int
			compact bool
		}{
			{compactEvery[1] - time.Second, 0, false},
			{compactEvery[1], 0, true},
			{compactEvery[1], busyBytes, false},
			{busyPeriods * compactEvery[1], busyBytes, true},
		} {
			before, err := a.log.list(ctx, 1)
			must(t, err)
			for range 3 {
				must(t, a.add(ctx, n))
				n++
			}
			now := time.Now()
			last := [levels]time.Time{1: now.Add(-c.since), 2: now, 3: now}
			a.ship.mu.Lock()
			a.ship.bytes = c.shipped
			a.ship.mu.Unlock()
			must(t, a.upkeep(&last, &now))
			after, err := a.log.list(ctx, 1)
			must(t, err)
			if len(after) > len(before) != c.compact {
				t.Errorf("after %v and %d bytes: %d files of level 1, before %d", c.since, c.shipped, len(after), len(before))
			}
		}
	})
}

// TestADamagedFileIsCompactedAnew checks that a compacted file that turns out to be damaged is made again from its
// source files, once.
func TestADamagedFileIsCompactedAnew(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		n := 0
		for range 2 {
			for range 2 {
				for range 5 {
					must(t, a.add(ctx, n))
					n++
				}
				_, err := a.log.compact(ctx, 1, a.ship.txid, a.ship.recentBody)
				must(t, err)
			}
			_, err := a.log.compact(ctx, 2, a.ship.txid, a.ship.recentBody)
			must(t, err)
		}
		files, err := a.log.list(ctx, 2)
		must(t, err)
		bad := files[len(files)-1]
		spoil(t, a, bad, -1)
		tidy := func() {
			t.Helper()
			a.compacted = 0 // makes it check again
			done := make(chan error, 1)
			go func() {
				snapshot := time.Now()
				done <- a.upkeep(&[levels]time.Time{}, &snapshot)
			}()
			select {
			case err := <-done:
				must(t, err)
			case <-time.After(20 * time.Second):
				a.cancel(errors.New("too long"))
				<-done
				t.Fatal("it compacts the same again and again")
			}
		}
		tidy()
		if !slices.ContainsFunc(a.bad, func(f logFile) bool { return f.level == 2 && f.max == bad.max }) {
			t.Errorf("found damaged: %v", a.bad)
		}
		tidy()
		if len(a.bad) > 0 {
			t.Errorf("still damaged: %v", a.bad)
		}
		must(t, a.log.findDamaged(ctx, []logFile{bad}))
		tidy()
		a.die()
		wants(t, elsewhere(t, url), upTo(n))
	})
}

// TestCompactionOfOneFileBeforeAHole checks that even a single file before a gap is compacted. Otherwise the files
// after the gap never would be.
func TestCompactionOfOneFileBeforeAHole(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		n := 0
		more := func() {
			for range 10 {
				must(t, a.add(ctx, n))
				n++
			}
		}
		snapshot := time.Now()
		tidy := func() (end uint64) {
			t.Helper()
			must(t, a.upkeep(&[levels]time.Time{}, &snapshot))
			files, err := a.log.list(ctx, 1)
			must(t, err)
			return files[len(files)-1].max
		}
		more()
		end := tidy()
		more()
		lose(t, a, end+2)
		tidy() // finds the gap
		if _, mended := a.Broken(); mended == nil {
			t.Error("the hole was not found")
		}
		more()
		if end := tidy(); end != a.ship.txid {
			t.Errorf("compacted to %d, not to %d", end, a.ship.txid)
		}
		must(t, a.log.sweep(ctx, time.Now().Add(time.Hour), time.Now().Add(-time.Hour)))
		if files, err := a.log.list(ctx, 0); err != nil || len(files) != 1 {
			t.Errorf("%d files of level 0 are left, %v", len(files), err)
		}
		a.die()
		wants(t, elsewhere(t, url), upTo(n))
	})
}

// TestUpkeepOfNothingListsNothing checks that upkeep sends no requests if nothing is due, because each listing costs
// money.
func TestUpkeepOfNothingListsNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	a := boot(t, s.URL(), filepath.Join(t.TempDir(), "a.db"))
	for i := range 3 {
		must(t, a.add(ctx, i))
	}
	now := time.Now()
	last := [levels]time.Time{1: now, 2: now, 3: now}
	a.verified = now
	before := s.Counts()["LIST"]
	must(t, a.upkeep(&last, &now))
	if n := s.Counts()["LIST"] - before; n > 0 {
		t.Errorf("%d listings", n)
	}
}

// TestTheFirstCopyIsDueAfterADay checks that the first copy is due a day after the start of a log, because a log starts
// with the whole database.
func TestTheFirstCopyIsDueAfterADay(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		for i := range 10 {
			must(t, a.add(ctx, i))
		}
		var last [levels]time.Time
		for _, c := range []struct {
			ago    time.Duration
			copies int
		}{{0, 0}, {snapshotEvery, 1}} {
			must(t, a.add(ctx, 10+c.copies))
			at := a.lastWhole().Add(-c.ago)
			must(t, a.upkeep(&last, &at))
			if s := look(t, url); s.Snapshots != c.copies {
				t.Errorf("the log began %v ago: %d copies, not %d", c.ago, s.Snapshots, c.copies)
			}
		}
		if at := a.lastWhole(); time.Since(at) > time.Minute || time.Until(at) > time.Minute {
			t.Errorf("the last copy was written at %v", at)
		}
	})
}

// TestFilesOfANearBucketAreCompactedLater checks that files wait for compaction as long as a restore can read them
// quickly.
func TestFilesOfANearBucketAreCompactedLater(t *testing.T) {
	for latency, want := range map[time.Duration]uint64{
		0: compactMost, 8 * time.Millisecond: 8000, 32 * time.Millisecond: 2000, time.Second: compactMany,
	} {
		if got := manyFiles(latency); got != want {
			t.Errorf("%v away: %d files, not %d", latency, got, want)
		}
	}
}

// TestNothingIsRemovedThatTheLockObjectDoesNotKnowOf checks that the lock object records how far the log reaches before
// files of level 0 are removed. Otherwise the next holder might see an outdated listing of level 1 and take the log to
// be shorter.
func TestNothingIsRemovedThatTheLockObjectDoesNotKnowOf(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	var fail, late atomic.Value // suffixes of keys whose writes fail, and of folders whose listing is outdated
	fail.Store("-")
	late.Store("-")
	old := objectstest.Faults{Ahead: -2 * keepShipped}
	old.Decide = func(q objectstest.Request) objectstest.Fault {
		f := old
		if q.Op != "LIST" || strings.HasSuffix(q.Key, late.Load().(string)) {
			f.Stale = time.Hour
		}
		s.Set(f)
		if q.Op == "PUT" && strings.HasSuffix(q.Key, fail.Load().(string)) {
			return objectstest.Fault{Kind: objectstest.Cut}
		}
		return objectstest.Fault{}
	}
	s.Set(old)
	a := boot(t, s.URL(), filepath.Join(t.TempDir(), "a.db"))
	must(t, a.add(ctx, 0))
	a.lease.until.Store(math.MaxInt64)
	fail.Store(lockKey)
	for i := 1; i < 4; i++ {
		must(t, a.add(ctx, i))
	}
	var last [levels]time.Time
	now := time.Now()
	if err := a.upkeep(&last, &now); err == nil {
		t.Error("files were removed, though the lease could not be renewed")
	}
	a.die()
	fail.Store("-")
	late.Store("0001/")
	b := boot(t, s.URL(), filepath.Join(t.TempDir(), "b.db"))
	wants(t, b.numbers(t), upTo(4))
}
