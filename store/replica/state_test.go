package replica

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/store/replica/objectstest"
)

func look(t *testing.T, url string) State {
	t.Helper()
	s, err := Look(t.Context(), url, objectstest.Env("look"))
	must(t, err)
	return s
}

// copied returns the numbers in a database restored by Copy.
func copied(t *testing.T, o CopyOptions) (all []int, c Copied) {
	t.Helper()
	o.Env, o.To = objectstest.Env("copy"), filepath.Join(t.TempDir(), "copy.db")
	c, err := Copy(t.Context(), o)
	must(t, err)
	if fi, err := os.Stat(o.To); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	db, err := sql.Open("sqlite", "file:"+o.To)
	must(t, err)
	defer db.Close()
	return numbers(t, db), c
}

func TestStateOfABucket(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		if s := look(t, url); s.Holder != nil || s.TXID != 0 || s.Files != 0 {
			t.Errorf("an empty bucket: %+v", s)
		}
		begin := time.Now().Add(-2 * time.Second) // storages have times in seconds
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		for i := range 10 {
			must(t, a.add(ctx, i))
		}
		s := look(t, url)
		host, err := os.Hostname()
		must(t, err)
		if h := s.Holder; h == nil || h.Host != host || h.Generation != 1 || h.TTL != testTTL || h.Released ||
			h.Renewed.Before(begin) || h.Lapses().Sub(h.Renewed) != testTTL {
			t.Errorf("holder %+v", s.Holder)
		}
		_, _, txid := a.Progress()
		if s.TXID != txid || s.TXID < 10 || s.Bytes == 0 || s.Snapshots != 0 || s.Gap != nil {
			t.Errorf("%+v, and the machine has shipped %d", s, txid)
		}
		for what, at := range map[string]time.Time{"newest": s.Newest, "oldest": s.Oldest} {
			if at.Before(begin) || at.After(time.Now().Add(time.Second)) {
				t.Errorf("%s: %s", what, at)
			}
		}
		must(t, a.ship.snapshot(ctx))
		if s := look(t, url); s.Snapshots != 1 {
			t.Errorf("%d snapshots", s.Snapshots)
		}
		a.stop(t)
		if s := look(t, url); !s.Holder.Released {
			t.Errorf("after a stop: %+v", s.Holder)
		}
	})
}

func TestCopyAsItWasAtATime(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		var after [5]time.Time // for each number, a time when it was there and the next one was not
		for i := range after {
			must(t, a.add(ctx, i))
			time.Sleep(3 * time.Millisecond)
			after[i] = time.Now()
			time.Sleep(3 * time.Millisecond)
		}
		for i, at := range after {
			got, c := copied(t, CopyOptions{URL: url, At: at})
			if !slices.Equal(got, upTo(i+1)) || !c.At.Before(at) || c.Gap != nil {
				t.Errorf("after %d: %v, %+v", i, got, c)
			}
		}
		_, _, txid := a.Progress()
		if got, c := copied(t, CopyOptions{URL: url}); !slices.Equal(got, upTo(len(after))) || c.TXID != txid {
			t.Errorf("the newest: %v, %+v", got, c)
		}
		to := filepath.Join(t.TempDir(), "none.db")
		_, err := Copy(ctx, CopyOptions{URL: url, Env: objectstest.Env("copy"), To: to, At: time.Now().Add(-time.Hour)})
		if _, statErr := os.Stat(to); !errors.Is(err, ErrNothing) || !errors.Is(statErr, os.ErrNotExist) {
			t.Errorf("an hour before: %v, %v", err, statErr)
		}
		must(t, os.WriteFile(to, []byte("mine"), 0o600))
		if _, err := Copy(ctx, CopyOptions{URL: url, Env: objectstest.Env("copy"), To: to}); !errors.Is(err, os.ErrExist) {
			t.Errorf("over a file: %v", err)
		}
		if b, err := os.ReadFile(to); err != nil || string(b) != "mine" {
			t.Errorf("the file is now %q, %v", b, err)
		}
	})
}

// TestCopyOfADamagedLog checks that a copy never skips a gap silently, whatever its options are. With ToGap it returns
// the part before the gap.
func TestCopyOfADamagedLog(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	a := boot(t, s.URL(), filepath.Join(t.TempDir(), "a.db"))
	var early time.Time
	for i := range 30 {
		must(t, a.add(ctx, i))
		if i == 5 {
			time.Sleep(3 * time.Millisecond)
			early = time.Now()
			time.Sleep(3 * time.Millisecond)
		}
	}
	a.die()
	_, _, txid := a.Progress()
	gone := txid - 15
	s.Remove("replica/" + a.log.key(0, gone, gone))
	env := objectstest.Env("copy")
	for _, at := range []time.Time{{}, time.Now()} {
		to := filepath.Join(t.TempDir(), "copy.db")
		if _, err := Copy(ctx, CopyOptions{URL: s.URL(), Env: env, To: to, At: at}); !errors.Is(err, ErrGap) {
			t.Errorf("at %v: %v", at, err)
		}
		if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("at %v: a file was made", at)
		}
		got, c := copied(t, CopyOptions{URL: s.URL(), At: at, ToGap: true})
		if len(got) == 0 || len(got) >= 30 || !slices.Equal(got, upTo(len(got))) || c.TXID != gone-1 ||
			!errors.Is(c.Gap, ErrGap) {
			t.Errorf("at %v, up to the gap: %v, %+v", at, got, c)
		}
	}
	if got, c := copied(t, CopyOptions{URL: s.URL(), At: early}); !slices.Equal(got, upTo(6)) || c.Gap != nil {
		t.Errorf("of before the gap: %v, %+v", got, c)
	}
	if st := look(t, s.URL()); !errors.Is(st.Gap, ErrGap) || st.TXID != gone-1 {
		t.Errorf("%+v", st)
	}
}

// TestTimesOfAMendedLog checks that, after a whole copy has repaired a log, the times before the hole and after the
// copy can be restored. Look reports the times that can't.
func TestTimesOfAMendedLog(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		add := func(from, to int) (after time.Time) {
			t.Helper()
			for i := from; i < to; i++ {
				time.Sleep(2 * time.Millisecond) // the log has times in milliseconds
				must(t, a.add(ctx, i))
			}
			time.Sleep(2 * time.Millisecond)
			return time.Now()
		}
		before := add(0, 10)
		if s := look(t, url); len(s.Holes) > 0 {
			t.Errorf("holes of a log that is whole: %v", s.Holes)
		}
		gone := a.ship.txid + 5
		within := add(10, 20)
		lose(t, a, gone)
		var last [levels]time.Time
		none := time.Now()
		must(t, a.upkeep(&last, &none))
		after := add(20, 30)
		s := look(t, url)
		if len(s.Holes) != 1 || s.Gap != nil {
			t.Fatalf("holes %v, gap %v", s.Holes, s.Gap)
		}
		h := s.Holes[0]
		if !h.From.Before(within) || h.From.Before(before.Add(-5*time.Millisecond)) || h.To.Before(within.Add(-5*time.Millisecond)) ||
			!h.To.Before(after) {
			t.Errorf("a hole from %v to %v; it is around %v, after %v and before %v", h.From, h.To, within, before, after)
		}
		to := filepath.Join(t.TempDir(), "within.db")
		at := CopyOptions{URL: url, Env: objectstest.Env("copy"), To: to, At: h.To}
		for _, at.At = range []time.Time{h.To, h.From.Add(time.Millisecond)} {
			if _, err := Copy(ctx, at); !errors.Is(err, ErrGap) {
				t.Errorf("in the hole, at %v: %v", at.At, err)
			}
		}
		for at, n := range map[time.Time]int{before: 10, after: 30, h.To.Add(time.Millisecond): 20} {
			if got, _ := copied(t, CopyOptions{URL: url, At: at}); !slices.Equal(got, upTo(n)) {
				t.Errorf("at %v: %v, not up to %d", at, got, n)
			}
		}
	})
}

// TestLag checks that another process can measure how the lag grows while the bucket accepts nothing. Afterwards the
// lag is gone.
func TestLag(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	path := filepath.Join(t.TempDir(), "a.db")
	a := boot(t, s.URL(), path)
	must(t, a.add(ctx, 0))
	env := objectstest.Env("look")
	behind := func() time.Duration { lag, _, _ := a.Progress(); return lag }
	if lag, err := Lag(ctx, s.URL(), env, path); lag != 0 || err != nil || behind() != 0 {
		t.Errorf("lag %s, %v; %s", lag, err, behind())
	}
	blocked := func(r objectstest.Request) (f objectstest.Fault) {
		if r.Op == "PUT" && strings.Contains(r.Key, "0000/") {
			f.Kind = objectstest.Error500
		}
		return f
	}
	s.Set(objectstest.Faults{Decide: blocked})
	added := make(chan error, 1)
	go func() { added <- a.add(ctx, 1) }()
	for behind() == 0 {
		if err := pause(ctx, time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	limited, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if lag, err := Lag(limited, s.URL(), env, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("lag %s, %v", lag, err)
	}
	go func() {
		_ = pause(ctx, 50*time.Millisecond)
		s.Set(objectstest.Faults{})
	}()
	if lag, err := Lag(ctx, s.URL(), env, path); lag <= 0 || err != nil {
		t.Errorf("lag %s, %v", lag, err)
	}
	must(t, <-added)
	if lag, latency, _ := a.Progress(); lag != 0 || latency == 0 {
		t.Errorf("lag %s, latency %s", lag, latency)
	}
}

// TestLookAtALogWithoutItsBeginning checks that Look works on a log whose first files are missing, and Lag on a log
// without files at level 0.
func TestLookAtALogWithoutItsBeginning(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		path := filepath.Join(t.TempDir(), "a.db")
		a := boot(t, url, path)
		n := 0
		for range 2 {
			for range 10 {
				must(t, a.add(ctx, n))
				n++
			}
			_, err := a.log.compact(ctx, 1, a.ship.txid, a.ship.recentBody)
			must(t, err)
		}
		must(t, a.log.sweep(ctx, time.Now().Add(time.Hour), time.Now().Add(-time.Hour)))
		files, err := a.log.list(ctx, 1)
		must(t, err)
		must(t, a.log.bucket.Delete(ctx, a.log.key(1, files[0].min, files[0].max)))
		if s := look(t, url); !errors.Is(s.Gap, ErrGap) || s.TXID != 0 || s.Files != 2 {
			t.Errorf("%+v", s)
		}
		lose(t, a, a.ship.txid)
		limited, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		env := objectstest.Env("look")
		if lag, err := Lag(limited, url, env, path); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("lag %s, %v", lag, err)
		}
		must(t, a.add(ctx, n))
		if lag, err := Lag(ctx, url, env, path); err != nil {
			t.Errorf("lag %s, %v", lag, err)
		}
	})
}
