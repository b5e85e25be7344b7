package store

import (
	"path/filepath"
	"testing"

	"newsletterd/core"
)

// What an operation has counted does not stay where it fails.
func TestAFailedOperationCountsNothing(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	s.SQL("INSERT INTO tenant (id, name, created_at, updated_at) VALUES ('t', 'T', 1, 1)")
	s.SQL("INSERT INTO list (id, tenant_id, name, created_at, updated_at) VALUES ('l', 't', 'L', 1, 1)")
	for _, fails := range []error{nil, core.ErrConflict} {
		err := s.update(t.Context(), func(tx *Tx) error {
			tx.moved("l", core.NotCounted, core.CountActive)
			return fails
		})
		if err != fails {
			t.Fatal(err)
		}
		counts, err := s.ListCounts(t.Context(), []string{"l"})
		if err != nil || counts["l"].Active != 1 {
			t.Errorf("%+v, %v; want one, of the first operation", counts, err)
		}
	}
}

// Each day keeps the counts of its end; a clock that goes back changes the latest.
func TestCountsOfDays(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	s.SQL("INSERT INTO tenant (id, name, created_at, updated_at) VALUES ('t', 'T', 1, 1)")
	s.SQL("INSERT INTO list (id, tenant_id, name, created_at, updated_at) VALUES ('l', 't', 'L', 1, 1)")
	for _, change := range [][2]int64{{20000, 5}, {20001, 2}, {20000, 1}} {
		s.SQL(countsOfDay, "l", change[0], change[1], 0, 0, 0, 0, 0, 0)
	}
	var days []struct {
		Day    int64 `db:"day"`
		Active int64 `db:"active"`
	}
	s.All(&days, "SELECT day, active FROM list_count WHERE list_id = 'l' ORDER BY day")
	if len(days) != 2 || days[0].Active != 5 || days[1].Active != 8 {
		t.Errorf("%+v", days)
	}
}
