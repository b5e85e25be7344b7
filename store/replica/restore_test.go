package replica

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"newsletterd/store/replica/objects"
)

// A file of the log that is cut off anywhere, or has a page beyond the end of the database, is damaged: to a restore
// and to a compaction.
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
	binary.BigEndian.PutUint32(far[100:], 1<<32-1) // of its first page, after the header
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
