package tenants

import (
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/store/db"
)

// The keepers of clients are found by index, with any SQLite statistics.
func TestKeepersAreReadByIndex(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	for range 2 {
		plan, err := s.Explain(t.Context(), keepersOf)
		must(t, err)
		for _, step := range plan {
			if strings.HasPrefix(step, "SCAN") && step != "SCAN kept" && !strings.HasPrefix(step, "SCAN json_each") {
				t.Errorf("%s\n%v", step, plan)
			}
		}
		s.SkewStatistics()
	}
}
