package store

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestHoursAreReadByIndex: the hours of a campaign are read by its jobs, and by no engagement.
func TestHoursAreReadByIndex(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	var plan []struct {
		ID      int    `db:"id"`
		Parent  int    `db:"parent"`
		Notused int    `db:"notused"`
		Detail  string `db:"detail"`
	}
	must(t, s.readers.Select(&plan, "EXPLAIN QUERY PLAN "+campaignHours, "c", 1))
	for _, line := range plan {
		if strings.HasPrefix(line.Detail, "SCAN") || strings.Contains(line.Detail, "engagement") {
			t.Error(line.Detail)
		}
	}
}
