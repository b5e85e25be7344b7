package campaigns

import (
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/store/db"
)

// TestHoursAreReadByIndex checks that the hours of a campaign and of a tenant are read through their jobs, without
// reading single opens and clicks.
func TestHoursAreReadByIndex(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	for range 2 {
		for _, query := range []string{campaignHours, hoursOfOpenings} {
			plan, err := s.Explain(t.Context(), query)
			must(t, err)
			if !strings.Contains(strings.Join(plan, "\n"), "INDEX send_job_") {
				t.Errorf("%s: %q", query, plan)
			}
			for _, line := range plan {
				if strings.HasPrefix(line, "SCAN") && line != "SCAN j" || strings.Contains(line, "engagement") {
					t.Error(line)
				}
			}
		}
		s.SkewStatistics()
	}
}
