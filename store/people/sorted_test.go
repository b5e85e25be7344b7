package people

import (
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/store/db"
)

// Sorting reads only the subscriptions of the searched lists, with any SQLite statistics.
func TestSortingReadsTheListsAlone(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	for range 2 {
		for _, q := range append([]string{sortable}, sortedStatements["email"], sortedStatements["-created_at"],
			sortedStatements["status_at"]) {
			plan, err := s.Explain(t.Context(), q)
			must(t, err)
			for _, step := range plan {
				if strings.HasPrefix(step, "SCAN") && step != "SCAN CONSTANT ROW" && step != "SCAN top" &&
					step != "SCAN j VIRTUAL TABLE INDEX 1:" && !strings.Contains(step, "subquery") ||
					strings.Contains(step, "AUTOMATIC") {
					t.Errorf("%s\n%s", q, step)
				}
			}
		}
		s.SkewStatistics()
	}
}
