package db

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"newsletterd/core/coretest"
)

// TestCopiesByCp copies with cp, as docs/backup.md allows: the snapshot at any time, even under full write load and
// during its replacement, and the database after a stop. Every copy must be intact and contain everything acknowledged
// before the snapshot began.
func TestCopiesByCp(t *testing.T) {
	copies := 5
	if os.Getenv("NEWSLETTERD_TORTURE") != "" {
		copies = 50
	}
	dir := t.TempDir()
	db, snapshot := filepath.Join(dir, "a.db"), filepath.Join(dir, "backup", "a.db")
	s := testOpen(t, db, Daemon)
	ctx, stop := context.WithCancel(t.Context())
	var acked, held atomic.Int64 // acknowledged in total; acknowledged before the current snapshot began
	var wg sync.WaitGroup
	for p := range 8 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if put(s, fmt.Sprint(p, "-", i), "row") == nil {
					acked.Add(1)
				}
			}
		})
	}
	must(t, s.Snapshot(ctx, snapshot))
	wg.Go(func() {
		for ctx.Err() == nil {
			before := acked.Load()
			if err := s.Snapshot(ctx, snapshot); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			held.Store(before)
		}
	})
	failed := 0
	for i := range copies {
		least := held.Load()
		to := filepath.Join(dir, fmt.Sprint("copy", i))
		if out, err := exec.Command("cp", snapshot, to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if n := countMarks(t, to); int64(n) < least {
			t.Errorf("copy %d has %d rows, %d were acknowledged before its snapshot began", i, n, least)
			failed++
		}
		removeDatabase(to)
	}
	stop()
	wg.Wait()
	must(t, s.Close())
	to := filepath.Join(dir, "stopped")
	if out, err := exec.Command("cp", db, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if n := countMarks(t, to); int64(n) < acked.Load() {
		t.Errorf("the copy of the stopped database has %d rows of %d", n, acked.Load())
		failed++
	}
	if t.Failed() && failed == 0 {
		failed = 1
	}
	coretest.Promise(t, 28, copies+1, failed, fmt.Sprintf("copies by cp under load, %d rows", acked.Load()))
}
