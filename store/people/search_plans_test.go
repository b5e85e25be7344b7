package people

import (
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/store/db"
)

// The people who match a rule are looked up by list and id.
func TestMatchesAreFoundByID(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	for range 2 {
		for q, want := range map[string]string{
			listedOfList:  "SEARCH s USING PRIMARY KEY (list_id=? AND id=?)",
			mirroredAmong: "SEARCH b USING PRIMARY KEY (list_id=? AND id=?)",
		} {
			plan, err := s.Explain(t.Context(), q)
			must(t, err)
			if all := strings.Join(plan, "\n"); !strings.Contains(all, want) || strings.Contains(all, "AUTOMATIC") ||
				strings.Contains(all, "SCAN s") || strings.Contains(all, "SCAN b") {
				t.Errorf("%s\n%s", q, all)
			}
		}
		s.SkewStatistics()
	}
}

// A search for subscribers reads an index, with any SQLite statistics.
func TestSearchesAreReadByIndex(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	for range 2 {
		for _, q := range []string{searchList, searchSpan} {
			plan, err := s.Explain(t.Context(), q)
			must(t, err)
			for _, step := range plan {
				byIndex := strings.Contains(step, "USING INDEX") || strings.Contains(step, "USING COVERING INDEX")
				if strings.HasPrefix(step, "SCAN") && !byIndex && step != "SCAN CONSTANT ROW" &&
					!strings.Contains(step, "subquery") ||
					strings.Contains(step, "TEMP B-TREE") {
					t.Errorf("%s\n%s", q, step)
				}
			}
		}
		s.SkewStatistics()
	}
}
