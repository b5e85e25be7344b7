package db

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckpointAmongFaults makes each driver call of a checkpoint fail. Later operations must commit, and the files
// left by a kill must open.
func TestCheckpointAmongFaults(t *testing.T) {
	for _, undo := range []bool{false, true} {
		calls := driverCalls()
		calls.Undo = undo
		s, err := open(t.Context(), Options{
			Path: filepath.Join(t.TempDir(), "a.db"), Migrate: true,
			WatchEvery: 1 << 40, Driver: "sqlite-faults",
		})
		must(t, err)
		rows := 0
		write := func() {
			t.Helper()
			rows++
			must(t, put(s, fmt.Sprint("row", rows), strings.Repeat("x", 100<<10)))
		}
		for n, at := 1, "the first"; at != ""; n++ {
			write()
			done := make(chan struct{})
			s.writer.checkpointRequests <- func() {
				defer close(done)
				calls.FailAt(n)
				s.writer.giveRoom(WalSize(s.path))
				_, _ = s.writer.runCheckpoint("PRAGMA wal_checkpoint(PASSIVE)")
				at, _ = calls.Stop()
			}
			<-done
			write()
			c := testOpen(t, crash(t, s.path), Daemon)
			var there int
			must(t, c.Get(t.Context(), &there, "SELECT count(*) FROM mark WHERE name LIKE 'row%'"))
			if there != rows {
				t.Errorf("fault at %s: %d rows of %d behind a kill", at, there, rows)
			}
			must(t, c.Close())
		}
		must(t, s.Close())
	}
}
