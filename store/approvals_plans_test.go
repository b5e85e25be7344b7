package store

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What an approval looks up is found by index, whatever the statistics say: also in the long trail of a large tenant.
func TestApprovalsAreReadByIndex(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	queries := map[string]string{
		layoutsOf: "SCAN", designersOf: "audit USING INDEX audit_object", removersOf: "audit USING INDEX audit_tenant",
		pictureIsThere: "SEARCH f USING",
	}
	for range 2 {
		for q, want := range queries {
			var plan []struct {
				ID, Parent, NotUsed int
				Detail              string
			}
			must(t, s.readers.Select(&plan, "EXPLAIN QUERY PLAN "+q, slices.Repeat([]any{"1"}, strings.Count(q, "?"))...))
			found := want == "SCAN"
			for _, step := range plan {
				found = found || strings.Contains(step.Detail, want)
				scans, _ := strings.CutPrefix(step.Detail, "SCAN ")
				if scans != step.Detail && !strings.HasPrefix(scans, "json_each") && scans != "CONSTANT ROW" {
					t.Errorf("%s\n%s", q, step.Detail)
				}
			}
			if !found {
				t.Errorf("%s\n%v", q, plan)
			}
		}
		s.SkewStatistics()
	}
}
