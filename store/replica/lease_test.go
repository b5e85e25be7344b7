package replica

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"newsletterd/store/replica/objects"
	"newsletterd/store/replica/objectstest"
)

// standBy makes a machine wait for the lease until ctx ends, and returns when it waits. The channel receives the error
// of Prepare.
func standBy(ctx context.Context, t *testing.T, url, path string) <-chan error {
	t.Helper()
	waits, ended := make(chan struct{}, 1), make(chan error, 1)
	r, err := New(Options{
		URL: url, Env: objectstest.Env("standby"), Path: path, TTL: testTTL,
		Waiting: func(string, bool) error {
			select {
			case waits <- struct{}{}:
			default:
			}
			return nil
		},
	})
	must(t, err)
	go func() { ended <- r.Prepare(ctx) }()
	select {
	case <-waits:
	case err := <-ended:
		t.Fatalf("no standby: %v", err)
	}
	t.Cleanup(func() {
		r.cancel(errors.New("dead"))
		r.loops.Wait()
	})
	return ended
}

// removeAll removes the lock object and all files of the log from the bucket.
func removeAll(t *testing.T, bucket objects.Bucket) {
	t.Helper()
	ctx := t.Context()
	keys := []string{lockKey}
	l := logFiles{bucket: bucket}
	for level := range levels {
		files, err := l.list(ctx, level)
		must(t, err)
		for _, f := range files {
			keys = append(keys, l.key(f.level, f.min, f.max))
		}
	}
	must(t, bucket.Delete(ctx, keys...))
}

// TestAStandbyOfAnEmptiedBucketBeginsNothing empties the bucket while one machine serves and another stands by. The
// standby's file, old or missing, must not become the database.
func TestAStandbyOfAnEmptiedBucketBeginsNothing(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		path, old := filepath.Join(t.TempDir(), "a.db"), filepath.Join(t.TempDir(), "b.db")
		b := boot(t, url, old)
		must(t, b.add(ctx, 0))
		b.stop(t)
		a := boot(t, url, path)
		must(t, a.add(ctx, 1))
		short, cancel := context.WithTimeout(ctx, 3*testTTL)
		defer cancel()
		empty := filepath.Join(t.TempDir(), "c.db")
		withFile, without := standBy(short, t, url, old), standBy(short, t, url, empty)
		removeAll(t, a.log.bucket)
		if err := <-a.lost; !errors.Is(err, ErrLost) {
			t.Errorf("the machine that serves: %v", err)
		}
		for _, ended := range []<-chan error{withFile, without} {
			if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a standby did not go on waiting: %v", err)
			}
		}
		if unused, err := a.log.unused(ctx); err != nil || !unused {
			t.Errorf("something was written to the bucket: %v", err)
		}
		a.die()
		for path, want := range map[string]bool{path: true, old: false} {
			if last, err := ServedLast(path, State{}); err != nil || last != want {
				t.Errorf("%s has served last: %v, %v", filepath.Base(path), last, err)
			}
		}
		for _, path := range []string{path, old, empty} {
			if _, err := start(within(t, 5*testTTL), url, path, testTTL); !errors.Is(err, ErrMissing) {
				t.Errorf("a start of %s: %v", filepath.Base(path), err)
			}
			if len(aside(t, path)) > 0 {
				t.Errorf("%s was set aside", filepath.Base(path))
			}
		}
		if _, err := os.Stat(empty); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a database was begun: %v", err)
		}
	})
}

// TestAStandbyWaitsForALockThatWasRemoved deletes only the lock object. The standby must leave it to the machine that
// served, because that machine has the newest file.
func TestAStandbyWaitsForALockThatWasRemoved(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	path := filepath.Join(t.TempDir(), "a.db")
	a := boot(t, s.URL(), path)
	must(t, a.add(ctx, 0))
	long, cancel := context.WithTimeout(ctx, 4*testTTL)
	defer cancel()
	ended := standBy(long, t, s.URL(), filepath.Join(t.TempDir(), "b.db"))
	s.Remove("replica/" + lockKey)
	<-a.lost
	a.keepWAL()
	a.die()
	must(t, a.reader.Close())
	again, err := start(within(t, 5*testTTL), s.URL(), path, testTTL)
	must(t, err)
	t.Cleanup(again.die)
	if got := again.numbers(t); !slices.Equal(got, upTo(1)) || len(aside(t, path)) > 0 || again.Restored() {
		t.Errorf("numbers %v, set aside %v", got, aside(t, path))
	}
	must(t, again.add(ctx, 1))
	if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the standby did not go on waiting: %v", err)
	}
	must(t, again.Check())
}

// TestALogWithoutALockIsTakenAfterATTL checks that a log without a lock object is taken only after a TTL, because a
// machine that serves may not have noticed yet that the object is missing.
func TestALogWithoutALockIsTakenAfterATTL(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	a := boot(t, s.URL(), filepath.Join(t.TempDir(), "a.db"))
	must(t, a.add(ctx, 0))
	cutOff(s, "test")
	s.Remove("replica/" + lockKey)
	r, err := New(Options{URL: s.URL(), Env: objectstest.Env("other"), Path: filepath.Join(t.TempDir(), "b.db"), TTL: testTTL})
	must(t, err)
	must(t, r.Prepare(ctx))
	if err := a.Check(); !errors.Is(err, ErrStale) {
		t.Errorf("two machines serve: %v", err)
	}
	must(t, r.Close(ctx))
	if !slices.ContainsFunc(s.Keys(), func(key string) bool { return strings.HasSuffix(key, lockKey) }) {
		t.Error("no lock object was written")
	}
}
