package db

import (
	"path/filepath"
	"testing"
	"time"
)

// TestSnapshotsNeedOneConnection checks that a snapshot needs only one reading connection, even for a query that was
// not prepared yet. If it waited for a second one, as many snapshots as there are connections would wait for each other
// forever.
func TestSnapshotsNeedOneConnection(t *testing.T) {
	s, err := open(t.Context(), Options{
		Path: filepath.Join(t.TempDir(), "n.db"), Migrate: true, Mode: Daemon, Readers: 1,
	})
	must(t, err)
	done := make(chan error, 1)
	go func() {
		var n [2]int64
		for range 2 { // the second time, the statements are prepared
			err := s.SnapshotRead(t.Context(), func(r *Reader) error {
				if err := r.Get(&n[0], "SELECT 1 + 1"); err != nil {
					return err
				}
				return r.Get(&n[1], "SELECT 2 + ?", 1)
			})
			if err != nil || n != [2]int64{2, 3} {
				t.Error(n, err)
			}
		}
		_, known := s.stmts.Load("SELECT 1 + 1")
		if !known {
			t.Error("the statement is not kept")
		}
		done <- nil
	}()
	select {
	case <-done:
		must(t, s.Close())
	case <-time.After(20 * time.Second):
		t.Fatal("the snapshot waits for another connection")
	}
}
