package replica

import (
	"errors"
	"fmt"
	"io"
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

// lose removes a file of level 0 from the bucket.
func lose(t *testing.T, m *machine, txid uint64) {
	t.Helper()
	must(t, m.log.bucket.Delete(t.Context(), m.log.key(0, txid, txid)))
}

// elsewhere returns the numbers that a machine with an empty disk restores.
func elsewhere(t *testing.T, url string) []int {
	t.Helper()
	b := boot(t, url, filepath.Join(t.TempDir(), "elsewhere.db"))
	return b.numbers(t)
}

// TestHolesAreMendedWhileTheMachineServes checks that the serving machine finds a missing file of its log, at level 0
// or at a compacted level. Afterwards a machine with an empty disk still gets everything acknowledged.
func TestHolesAreMendedWhileTheMachineServes(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		n := 0
		more := func() {
			for range 30 {
				must(t, a.add(ctx, n))
				n++
			}
		}
		var last [levels]time.Time
		snapshot := time.Now() // not due
		tidy := func() {
			t.Helper()
			last = [levels]time.Time{}
			must(t, a.upkeep(&last, &snapshot))
		}
		whole := func(mended string) {
			t.Helper()
			if broken, found := a.Broken(); broken != nil || !errors.Is(found, ErrGap) {
				t.Errorf("%s: %v, mended %v", mended, broken, found)
			}
			_, err := a.log.plan(ctx, 0, zeroTime)
			must(t, err)
		}
		more()
		tidy()
		more()
		lose(t, a, a.ship.txid-15)
		tidy()
		whole("level 0")
		more()
		tidy() // compacts what comes after the copy
		files, err := a.log.list(ctx, 1)
		must(t, err)
		if end := files[len(files)-1].max; end != a.ship.txid {
			t.Errorf("compacted to %d, not to %d", end, a.ship.txid)
		}
		more()
		tidy()
		files, err = a.log.list(ctx, 1)
		must(t, err)
		f := files[len(files)-1]
		must(t, a.log.bucket.Delete(ctx, a.log.key(1, f.min, f.max)))
		must(t, a.log.sweep(ctx, time.Now().Add(time.Hour), time.Now().Add(-time.Hour)))
		more()
		a.verified = zeroTime
		tidy()
		whole("level 1")
		more()
		a.die()
		if got := elsewhere(t, url); !slices.Equal(got, upTo(n)) {
			t.Errorf("numbers %v, not up to %d", got, n)
		}
	})
}

// TestHolesAreMendedAtTheStart checks that a machine that starts with an intact file repairs the log: after a kill or a
// stop, with files missing in the middle or at the end.
func TestHolesAreMendedAtTheStart(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		path := filepath.Join(t.TempDir(), "a.db")
		n := 0
		for _, c := range []struct {
			what string
			back []uint64 // numbers of the missing files, counted from the last one
			stop bool
		}{
			{"in the middle", []uint64{15}, false},
			{"in the middle after a stop", []uint64{15}, true},
			{"near the end", []uint64{2, 3}, false},
			{"at the end after a stop", []uint64{0, 1}, true},
		} {
			a := boot(t, url, path)
			if got := a.numbers(t); !slices.Equal(got, upTo(n)) || len(aside(t, path)) > 0 {
				t.Fatalf("before %s: numbers %v, set aside %v", c.what, got, aside(t, path))
			}
			for range 30 {
				must(t, a.add(ctx, n))
				n++
			}
			must(t, a.lease.renew(ctx)) // records the end of the log
			end := a.ship.txid
			if c.stop {
				a.stop(t)
			} else {
				a.keepWAL() // has the effect of a kill
				a.die()
				must(t, a.reader.Close())
			}
			for _, back := range c.back {
				lose(t, a, end-back)
			}
		}
		a := boot(t, url, path)
		must(t, a.add(ctx, n))
		if _, mended := a.Broken(); !errors.Is(mended, ErrGap) || len(aside(t, path)) > 0 {
			t.Errorf("mended %v, set aside %v", mended, aside(t, path))
		}
		a.die()
		if got := elsewhere(t, url); !slices.Equal(got, upTo(n+1)) {
			t.Errorf("numbers %v, not up to %d", got, n)
		}
	})
}

// TestAnOldFileDoesNotMendTheLog checks that a database file that lacks changes acknowledged by another machine
// replaces a damaged log only if the user requests it. The file stays in place.
func TestAnOldFileDoesNotMendTheLog(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := objectstest.New(t).URL()
	path := filepath.Join(t.TempDir(), "a.db")
	a := boot(t, url, path)
	for i := range 10 {
		must(t, a.add(ctx, i))
	}
	a.stop(t)
	b := boot(t, url, filepath.Join(t.TempDir(), "b.db"))
	for i := 10; i < 40; i++ {
		must(t, b.add(ctx, i))
	}
	end := b.ship.txid
	b.stop(t)
	lose(t, b, end-15)
	_, err := start(ctx, url, path, testTTL)
	if !errors.Is(err, ErrGap) || !strings.Contains(err.Error(), "newsletterd replica begin") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(path); err != nil || len(aside(t, path)) > 0 {
		t.Errorf("%v, set aside %v", err, aside(t, path))
	}
	r, err := New(Options{URL: url, Env: objectstest.Env("test"), Path: path, TTL: testTTL, Supersede: true})
	must(t, err)
	must(t, r.Prepare(ctx))
	must(t, r.Close(ctx))
	wants(t, elsewhere(t, url), upTo(10))
}

// spoil damages a file of the log, or truncates it to size bytes if size is not negative.
func spoil(t *testing.T, m *machine, f logFile, size int) {
	t.Helper()
	ctx := t.Context()
	r, err := m.log.open(ctx, f, 0)
	must(t, err)
	body, err := io.ReadAll(r)
	must(t, err)
	must(t, r.Close())
	body[len(body)/2]++
	if size >= 0 {
		body = body[:size]
	}
	_, err = m.log.bucket.Put(ctx, m.log.key(f.level, f.min, f.max), body, objects.Condition{})
	must(t, err)
}

// TestCopyUpToADamagedFile checks that a copy stops at a damaged, truncated or empty file of the log in the same way as
// at a missing one, and reports it. If other files hold the same changes, the copy is complete.
func TestCopyUpToADamagedFile(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		for _, size := range []int{-1, 700, 50, 0} {
			for _, back := range []uint64{0, 5} {
				url := strings.Replace(url, "replica?", fmt.Sprintf("replica%d-%d?", size+1, back), 1)
				if strings.HasPrefix(url, "file:") {
					url += fmt.Sprintf("/%d-%d", size+1, back)
					must(t, os.Mkdir(strings.TrimPrefix(url, "file://"), 0o700))
				}
				a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
				for i := range 20 {
					must(t, a.add(ctx, i))
				}
				bad := a.ship.txid - back
				spoil(t, a, logFile{level: 0, min: bad, max: bad}, size)
				o := CopyOptions{URL: url, Env: objectstest.Env("test"), To: filepath.Join(t.TempDir(), "to.db")}
				if _, err := Copy(ctx, o); !errors.Is(err, ErrGap) || !strings.Contains(err.Error(), "is damaged") {
					t.Errorf("%d bytes: %v", size, err)
				}
				if _, err := os.Stat(o.To); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%d bytes: a file is left: %v", size, err)
				}
				o.ToGap = true
				got, err := Copy(ctx, o)
				must(t, err)
				if !errors.Is(got.Gap, ErrGap) || got.TXID != bad-1 {
					t.Errorf("%d bytes of %d: %+v", size, bad, got)
				}
				a.die()
			}
		}
	})
}

// TestDamagedFilesOfWhatOthersHave checks that a restore uses other files with the same changes if a compacted file is
// damaged. The machine repairs the damage that it finds during compaction.
func TestDamagedFilesOfWhatOthersHave(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		for i := range 20 {
			must(t, a.add(ctx, i))
		}
		_, err := a.log.compact(ctx, 1, a.ship.txid-3, a.ship.recentBody)
		must(t, err)
		files, err := a.log.list(ctx, 1)
		must(t, err)
		spoil(t, a, files[0], -1)
		got, err := Copy(ctx, CopyOptions{
			URL: url, Env: objectstest.Env("test"), To: filepath.Join(t.TempDir(), "to.db"),
		})
		if err != nil || got.Gap != nil || got.Damaged == nil || got.TXID != a.ship.txid {
			t.Errorf("%+v, %v", got, err)
		}
		a.ship.mu.Lock()
		a.ship.recent, a.ship.kept = nil, 0
		a.ship.mu.Unlock()
		spoil(t, a, logFile{level: 0, min: a.ship.txid - 1, max: a.ship.txid - 1}, -1)
		var last [levels]time.Time
		snapshot := time.Now()
		must(t, a.upkeep(&last, &snapshot))
		if broken, mended := a.Broken(); broken != nil || mended == nil {
			t.Errorf("%v, mended %v", broken, mended)
		}
		for i := 20; i < 40; i++ {
			must(t, a.add(ctx, i))
		}
		last = [levels]time.Time{}
		must(t, a.upkeep(&last, &snapshot))
		a.die()
		wants(t, elsewhere(t, url), upTo(40))
	})
}

// TestHolesAreMendedWhileTheMachineRests checks that a machine also checks the log if no one writes to the database.
func TestHolesAreMendedWhileTheMachineRests(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	a := boot(t, s.URL(), filepath.Join(t.TempDir(), "a.db"))
	for i := range 5 {
		must(t, a.add(ctx, i))
	}
	now, last := time.Now(), [levels]time.Time{}
	must(t, a.upkeep(&last, &now))
	for _, key := range s.Keys() {
		if strings.Contains(key, "/0000/") || strings.Contains(key, "/0001/") {
			s.Remove(key)
		}
	}
	a.verified = time.Time{}
	must(t, a.upkeep(&last, &now))
	if _, mended := a.Broken(); mended == nil {
		t.Error("nothing was mended")
	}
	a.die()
	wants(t, elsewhere(t, s.URL()), upTo(5))
}

// TestALockThatIsNone checks that an invalid lock object is reported with instructions, and that following them
// recovers everything.
func TestALockThatIsNone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	path := filepath.Join(t.TempDir(), "a.db")
	a := boot(t, s.URL(), path)
	for i := range 5 {
		must(t, a.add(ctx, i))
	}
	a.stop(t)
	s.Store("replica/"+lockKey, []byte("nonsense"))
	_, err := Look(ctx, s.URL(), objectstest.Env("test"))
	if err == nil || !strings.Contains(err.Error(), lockKey) ||
		!strings.Contains(err.Error(), "delete it") {
		t.Errorf("%v", err)
	}
	s.Remove("replica/" + lockKey)
	wants(t, elsewhere(t, s.URL()), upTo(5))
}

// TestALogThatHasExpired removes all of the log, or all but its newest files, while a machine serves, as a lifecycle
// rule of a bucket does. Look must report that, and the machine must repair the log.
func TestALogThatHasExpired(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		n := 0
		snapshot := time.Now() // not due
		for _, left := range []int{12, 3, 0, 1, 0} {
			for range 30 {
				must(t, a.add(ctx, n))
				n++
			}
			must(t, a.lease.renew(ctx)) // records the end of the log
			for _, level := range []int{snapshotLevel, 3, 2, 1, 0} {
				files, err := a.log.list(ctx, level)
				must(t, err)
				if level == 0 {
					files = files[:len(files)-left]
				}
				for _, f := range files {
					must(t, a.log.bucket.Delete(ctx, a.log.key(level, f.min, f.max)))
				}
			}
			if s := look(t, url); !errors.Is(s.Gap, ErrGap) || s.TXID != 0 {
				t.Errorf("%d files are left: %+v", left, s)
			}
			a.verified = zeroTime
			must(t, a.upkeep(&[levels]time.Time{}, &snapshot))
			if broken, found := a.Broken(); broken != nil || !errors.Is(found, ErrGap) {
				t.Errorf("%d files are left: %v, mended %v", left, broken, found)
			}
			a.trouble.Store(nil)
			if s := look(t, url); s.Gap != nil || s.TXID != a.ship.txid {
				t.Errorf("%d files were left, mended: %+v", left, s)
			}
		}
		must(t, a.add(ctx, n))
		a.die()
		if got := elsewhere(t, url); !slices.Equal(got, upTo(n+1)) {
			t.Errorf("numbers %v, not up to %d", got, n)
		}
	})
}

// TestALogWithoutItsEnd removes the newest files of the log while a machine serves. The rest can be restored, but is
// incomplete.
func TestALogWithoutItsEnd(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		for n := range 30 {
			must(t, a.add(ctx, n))
		}
		must(t, a.lease.renew(ctx))
		lose(t, a, a.ship.txid)
		lose(t, a, a.ship.txid-1)
		if s := look(t, url); !errors.Is(s.Gap, ErrGap) || s.TXID != a.ship.txid-2 {
			t.Errorf("%+v", s)
		}
		snapshot := time.Now()
		must(t, a.upkeep(&[levels]time.Time{}, &snapshot))
		if broken, found := a.Broken(); broken != nil || !errors.Is(found, ErrGap) {
			t.Errorf("%v, mended %v", broken, found)
		}
		must(t, a.add(ctx, 30))
		a.die()
		wants(t, elsewhere(t, url), upTo(31))
	})
}

// TestAWholeCopyThatFails checks that, while a whole copy can't be shipped, the log is still compacted but no file is
// removed. The copy is retried at growing intervals.
func TestAWholeCopyThatFails(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	a := boot(t, s.URL(), filepath.Join(t.TempDir(), "a.db"))
	for i := range 30 {
		must(t, a.add(ctx, i))
	}
	lose(t, a, 15)
	var tries atomic.Int64
	s.Set(objectstest.Faults{Decide: func(r objectstest.Request) (f objectstest.Fault) {
		if r.Op == "PUT" && strings.Contains(r.Key, "/0009/") {
			tries.Add(1)
			f.Kind = objectstest.Conflict
		}
		return f
	}})
	snapshot := zeroTime // due
	tidy := func() error { return a.upkeep(&[levels]time.Time{}, &snapshot) }
	if err := tidy(); err == nil || !strings.Contains(err.Error(), "in 1m0s") {
		t.Errorf("%v", err)
	}
	once := tries.Load()
	for range 3 {
		must(t, tidy())
	}
	if broken, _ := a.Broken(); !errors.Is(broken, ErrGap) || tries.Load() != once || once == 0 {
		t.Errorf("%v, %d requests after %d", broken, tries.Load(), once)
	}
	if files, err := a.log.list(ctx, 1); err != nil || len(files) != 1 || files[0].max != 14 {
		t.Errorf("level 1: %v, %v", files, err)
	}
	if files, err := a.log.list(ctx, 0); err != nil || len(files) != int(a.ship.txid)-1 {
		t.Errorf("%d files of level 0 are left, %v", len(files), err)
	}
	for _, wait := range []time.Duration{2, 4, 8, 16, 32, 60, 60} {
		a.copies.after = zeroTime
		if err := tidy(); err == nil || a.copies.wait != wait*time.Minute {
			t.Errorf("it waits %s, not %d minutes; %v", a.copies.wait, wait, err)
		}
	}
	s.Set(objectstest.Faults{})
	must(t, tidy())
	if broken, _ := a.Broken(); broken == nil {
		t.Error("it was tried too soon")
	}
	a.copies.after = zeroTime
	must(t, tidy())
	if broken, mended := a.Broken(); broken != nil || mended == nil || !a.copies.due() {
		t.Errorf("%v, mended %v", broken, mended)
	}
	a.die()
	wants(t, elsewhere(t, s.URL()), upTo(30))
}

// TestALateFileOfAnEarlierHolderDoesNotMendTheLog checks that a late file of an earlier holder, after files
// acknowledged by a later one, doesn't make the earlier holder's database file the newest. The later holder repairs the
// log.
func TestALateFileOfAnEarlierHolderDoesNotMendTheLog(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	path, later := filepath.Join(t.TempDir(), "a.db"), filepath.Join(t.TempDir(), "b.db")
	a := boot(t, s.URL(), path)
	for i := range 10 {
		must(t, a.add(ctx, i))
	}
	head := a.ship.txid
	must(t, a.lease.renew(ctx))
	lock, _ := s.Object("replica/" + lockKey)
	for i := 10; a.ship.txid < head+3; i++ {
		must(t, a.add(ctx, i))
	}
	a.keepWAL()
	a.die()
	must(t, a.reader.Close())
	late, _ := s.Object("replica/" + a.log.key(0, head+3, head+3))
	for txid := head + 1; txid <= head+3; txid++ { // uploads in progress that were never acknowledged
		lose(t, a, txid)
	}
	s.Store("replica/"+lockKey, lock)
	b := boot(t, s.URL(), later)
	for i := 10; b.ship.txid < head+2; i++ {
		must(t, b.add(ctx, i))
	}
	want := b.numbers(t)
	must(t, b.lease.renew(ctx))
	b.keepWAL()
	b.die()
	must(t, b.reader.Close())
	s.Store("replica/"+a.log.key(0, head+3, head+3), late)
	lose(t, a, head-3)
	r, err := New(Options{URL: s.URL(), Env: objectstest.Env("test"), Path: path, TTL: testTTL})
	must(t, err)
	if err := r.Prepare(ctx); !errors.Is(err, ErrGap) || len(aside(t, path)) > 0 {
		t.Errorf("%v, set aside %v", err, aside(t, path))
	}
	must(t, r.Close(ctx))
	again, err := start(within(t, 5*testTTL), s.URL(), later, testTTL)
	must(t, err)
	t.Cleanup(again.die)
	if _, mended := again.Broken(); !errors.Is(mended, ErrGap) || len(aside(t, later)) > 0 {
		t.Errorf("mended %v, set aside %v", mended, aside(t, later))
	}
	must(t, again.add(ctx, 1000))
	again.die()
	if got := elsewhere(t, s.URL()); !slices.Equal(got, append(want, 1000)) {
		t.Errorf("numbers %v, not %v", got, want)
	}
}

// bucketState returns the contents of a bucket, which a test can restore later.
func bucketState(s *objectstest.Server) map[string][]byte {
	all := map[string][]byte{}
	for _, key := range s.Keys() {
		all[key], _ = s.Object(key)
	}
	return all
}

func bringBack(s *objectstest.Server, state map[string][]byte) {
	for _, key := range s.Keys() {
		s.Remove(key)
	}
	for key, body := range state {
		s.Store(key, body)
	}
}

// TestABucketThatWasBroughtBack restores a bucket to an earlier state. The machine that served last must repair it. If
// another machine has continued from there, the machine must refuse until the user decides.
func TestABucketThatWasBroughtBack(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"last", "begin", "without the note", "begun elsewhere"} {
		t.Run(c, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s := objectstest.New(t)
			path, other := filepath.Join(t.TempDir(), "a.db"), filepath.Join(t.TempDir(), "b.db")
			a := boot(t, s.URL(), path)
			for i := range 10 {
				must(t, a.add(ctx, i))
			}
			a.stop(t)
			before := bucketState(s)
			a = boot(t, s.URL(), path)
			for i := 10; i < 20; i++ {
				must(t, a.add(ctx, i))
			}
			a.stop(t)
			options := Options{URL: s.URL(), Env: objectstest.Env("test"), Path: path, TTL: testTTL}
			if c == "begun elsewhere" {
				bringBack(s, nil)
			} else {
				bringBack(s, before)
			}
			if c != "last" {
				b := boot(t, s.URL(), other)
				must(t, b.add(ctx, 100))
				b.stop(t)
			}
			if c == "begin" || c == "without the note" {
				r, err := New(options)
				must(t, err)
				if err := r.Prepare(ctx); !errors.Is(err, ErrGap) ||
					!strings.Contains(err.Error(), "newsletterd replica begin") {
					t.Errorf("%v", err)
				}
				must(t, r.Close(ctx))
				state, err := Look(ctx, s.URL(), objectstest.Env("test"))
				must(t, err)
				if lacks, err := Lacks(s.URL(), path, state); err != nil || !lacks || len(aside(t, path)) > 0 {
					t.Errorf("lacks %v, %v, set aside %v", lacks, err, aside(t, path))
				}
			}
			want, kept := upTo(20), 0
			switch c {
			case "begin":
				options.Begin = true
				r, err := New(options)
				must(t, err)
				must(t, r.Prepare(ctx))
				must(t, r.Close(ctx))
			case "without the note":
				must(t, os.Remove(notePath(path)))
				want, kept = append(upTo(10), 100), 1
			case "begun elsewhere":
				want, kept = []int{100}, 1
			}
			a, err := start(within(t, 6*testTTL), s.URL(), path, testTTL)
			must(t, err)
			t.Cleanup(a.die)
			if got := a.numbers(t); !slices.Equal(got, want) || len(aside(t, path)) != kept {
				t.Errorf("numbers %v, set aside %v", got, aside(t, path))
			}
			must(t, a.add(ctx, 1000))
			a.stop(t)
			if got := elsewhere(t, s.URL()); !slices.Equal(got, append(want, 1000)) {
				t.Errorf("elsewhere: numbers %v", got)
			}
		})
	}
}
