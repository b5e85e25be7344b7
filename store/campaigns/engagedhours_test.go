package campaigns

import (
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/store/db"
)

// TestHoursAreReadByIndex: the hours of a campaign are read by its jobs, and by no engagement.
func TestHoursAreReadByIndex(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	plan, err := s.Explain(t.Context(), campaignHours)
	must(t, err)
	for _, line := range plan {
		if strings.HasPrefix(line, "SCAN") || strings.Contains(line, "engagement") {
			t.Error(line)
		}
	}
}
