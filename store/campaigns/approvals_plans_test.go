package campaigns

import (
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/store/db"
)

// An approval finds its records by index, with any SQLite statistics, even in the long audit log of a large tenant.
func TestApprovalsAreReadByIndex(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	queries := map[string]string{
		layoutsOf: "SCAN", designersOf: "audit USING INDEX audit_object", removersOf: "audit USING INDEX audit_tenant",
		pictureIsThere: "SEARCH f USING",
	}
	for range 2 {
		for q, want := range queries {
			plan, err := s.Explain(t.Context(), q)
			must(t, err)
			found := want == "SCAN"
			for _, step := range plan {
				found = found || strings.Contains(step, want)
				scans, _ := strings.CutPrefix(step, "SCAN ")
				if scans != step && !strings.HasPrefix(scans, "json_each") && scans != "CONSTANT ROW" && scans != "made" {
					t.Errorf("%s\n%s", q, step)
				}
			}
			if !found {
				t.Errorf("%s\n%v", q, plan)
			}
		}
		s.SkewStatistics()
	}
}
