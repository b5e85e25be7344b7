package replica

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/store/replica/objects"
	"newsletterd/store/replica/objectstest"
)

// TestFilesCutOffAreDamaged checks that a file of the log that is truncated anywhere, or has a page beyond the end of
// the database, counts as damaged in a restore and in a compaction.
func TestFilesCutOffAreDamaged(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	a := boot(t, "file://"+t.TempDir(), filepath.Join(t.TempDir(), "a.db"))
	for i := range 5 {
		must(t, a.add(ctx, i))
	}
	file := logFile{level: 0, min: a.ship.txid, max: a.ship.txid}
	r, err := a.log.open(ctx, file, 0)
	must(t, err)
	body, err := io.ReadAll(r)
	must(t, err)
	must(t, r.Close())
	to, err := os.Create(filepath.Join(t.TempDir(), "to.db"))
	must(t, err)
	defer to.Close()
	far := bytes.Clone(body)
	binary.BigEndian.PutUint32(far[100:], 1<<32-1) // number of its first page, after the header
	if err := applyOne(to, bytes.NewReader(far)); err == nil || errors.Is(err, errWrite) {
		t.Errorf("a page beyond the end: %v", err)
	}
	if fi, err := to.Stat(); err != nil || fi.Size() > 1<<30 {
		t.Errorf("a page beyond the end: a file of %d bytes, %v", fi.Size(), err)
	}
	for size := range body {
		if err := applyOne(to, bytes.NewReader(body[:size])); err == nil || errors.Is(err, errWrite) {
			t.Errorf("%d bytes of %d: %v", size, len(body), err)
		}
	}
	for size := len(body) - 60; size < len(body); size++ {
		_, err := a.log.bucket.Put(ctx, a.log.key(0, file.min, file.max), body[:size], objects.Condition{})
		must(t, err)
		_, err = a.log.compact(ctx, 1, a.ship.txid, func(uint64) []byte { return nil })
		if bad := (*damagedError)(nil); !errors.As(err, &bad) || bad.file.max != file.max {
			t.Errorf("%d bytes of %d: %v", size, len(body), err)
		}
	}
}

// TestRestoreReadsManyAtOnce checks that a machine that starts on an empty disk reads many files of the log
// concurrently, because the bucket may be remote. It reads each file at most twice: the header and the whole file.
func TestRestoreReadsManyAtOnce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := objectstest.New(t)
	a := boot(t, s.URL(), filepath.Join(t.TempDir(), "a.db"))
	const n = 3 * fetchAtOnce
	for i := range n {
		must(t, a.add(ctx, i))
	}
	a.die()
	var mu sync.Mutex
	times := map[string]int{}
	waiting, together := map[int]int{}, map[int]chan struct{}{1: make(chan struct{}), 2: make(chan struct{})}
	s.Set(objectstest.Faults{Decide: func(q objectstest.Request) (none objectstest.Fault) {
		if q.Op != "GET" || !strings.Contains(q.Key, "/0000/") {
			return none
		}
		mu.Lock()
		times[q.Key]++
		nth := times[q.Key]
		all := together[nth]
		if waiting[nth]++; all != nil && waiting[nth] == fetchAtOnce {
			close(all)
		}
		mu.Unlock()
		if all == nil {
			return none
		}
		select {
		case <-all:
		case <-time.After(time.Minute):
			t.Errorf("%d requests were not sent at once", fetchAtOnce)
		}
		return none
	}})
	b, err := start(ctx, s.URL(), filepath.Join(t.TempDir(), "b.db"), testTTL)
	must(t, err)
	defer b.die()
	wants(t, b.numbers(t), upTo(n))
	if len(times) < n {
		t.Errorf("%d files of the log were read, not %d", len(times), n)
	}
	for key, nth := range times {
		if nth > 2 {
			t.Errorf("%s was read %d times", key, nth)
		}
	}
}

// TestCopyOfALogWithoutItsEnd checks a log that ends before the position recorded by its holder. A copy of the newest
// state must report that; a copy of an earlier state doesn't need the missing files.
func TestCopyOfALogWithoutItsEnd(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a := boot(t, url, filepath.Join(t.TempDir(), "a.db"))
		for i := range 5 {
			must(t, a.add(ctx, i))
		}
		must(t, a.lease.renew(ctx)) // records the end
		a.die()
		last := a.ship.txid
		must(t, a.log.bucket.Delete(ctx, a.log.key(0, last, last)))
		o := CopyOptions{URL: url, Env: objectstest.Env("copy"), To: filepath.Join(t.TempDir(), "copy.db")}
		if c, err := Copy(ctx, o); !errors.Is(err, ErrGap) {
			t.Errorf("a copy of the newest: %+v, %v", c, err)
		}
		o.ToGap = true
		if c, err := Copy(ctx, o); err != nil || !errors.Is(c.Gap, ErrGap) || c.TXID != last-1 {
			t.Errorf("up to the gap: %+v, %v", c, err)
		}
		o.ToGap, o.At, o.To = false, time.Now().Add(time.Hour), filepath.Join(t.TempDir(), "then.db")
		if c, err := Copy(ctx, o); err != nil || c.TXID != last-1 {
			t.Errorf("as it was: %+v, %v", c, err)
		}
	})
}
