package tenants

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db"
)

// A failed operation changes no counts.
func TestAFailedOperationCountsNothing(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	s.SQL("INSERT INTO tenant (id, name, created_at, updated_at) VALUES ('t', 'T', 1, 1)")
	s.SQL("INSERT INTO list (id, tenant_id, name, created_at, updated_at) VALUES ('l', 't', 'L', 1, 1)")
	for _, fails := range []error{nil, core.ErrConflict} {
		err := s.Update(t.Context(), func(tx *db.Tx) error {
			Moved(tx, "l", core.NotCounted, core.CountActive)
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

// Each day keeps the counts that it ended with. If the clock is set back, changes go to the latest day.
func TestCountsOfDays(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	s.SQL("INSERT INTO tenant (id, name, created_at, updated_at) VALUES ('t', 'T', 1, 1)")
	s.SQL("INSERT INTO list (id, tenant_id, name, created_at, updated_at) VALUES ('l', 't', 'L', 1, 1)")
	for _, change := range [][2]int64{{20000, 5}, {20001, 2}, {20000, 1}} {
		s.SQL(countsOfDay, "l", change[0], change[1], 0, 0, 0, 0, 0, 0)
	}
	var days []struct {
		Day    int64 `db:"day"`
		Active int64 `db:"active"`
	}
	s.AllRows(&days, "SELECT day, active FROM list_count WHERE list_id = 'l' ORDER BY day")
	if len(days) != 2 || days[0].Active != 5 || days[1].Active != 8 {
		t.Errorf("%+v", days)
	}
}

// The counts of a day are those after its last change. Days before the first row are left out, and rows of future days
// are ignored.
func TestGrowthOfAList(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	s.SQL("INSERT INTO tenant (id, name, created_at, updated_at) VALUES ('t', 'T', 1, 1)")
	s.SQL("INSERT INTO list (id, tenant_id, name, created_at, updated_at) VALUES ('l', 't', 'L', 1, 1)")
	for _, change := range [][2]int64{{20000, 5}, {20002, 2}, {20004, 1}} {
		s.SQL(countsOfDay, "l", change[0], change[1], 0, 0, 0, 0, 0, 0)
	}
	const day = 24 * 60 * 60 * 1000
	for _, c := range []struct {
		today int64
		days  int
		want  string
	}{
		{20003, 2, "[{2024-10-06 7} {2024-10-07 7}]"},
		{20003, 3, "[{2024-10-05 5} {2024-10-06 7} {2024-10-07 7}]"},
		{20003, 30, "[{2024-10-04 5} {2024-10-05 5} {2024-10-06 7} {2024-10-07 7}]"},
		{20400, 1, "[{2025-11-08 8}]"},
		{19999, 30, "[]"},
	} {
		found, err := s.ListGrowth(t.Context(), "l", core.Instant(c.today*day+1), c.days)
		type row struct {
			day    string
			active int64
		}
		got := []row{}
		for _, d := range found {
			got = append(got, row{d.Day, d.Active})
		}
		if fmt.Sprint(got) != c.want || err != nil {
			t.Errorf("%d days to %d: %v, %v", c.days, c.today, got, err)
		}
	}
	if found, err := s.ListGrowth(t.Context(), "none", day, 30); len(found) != 0 || found == nil || err != nil {
		t.Errorf("no list: %v, %v", found, err)
	}
}

func TestGrowthIsReadByIndex(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	for range 2 {
		plan, err := s.Explain(t.Context(), growthOfList)
		must(t, err)
		for _, step := range plan {
			if strings.HasPrefix(step, "SCAN") || strings.Contains(step, "TEMP B-TREE") {
				t.Error(step)
			}
		}
		s.SkewStatistics()
	}
}
