package campaigns

import (
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/store/db"
)

// What a rule needs of a subscriber is found by list and id, whatever SQLite has noted of the tables.
func TestRulesLookSubscribersUpByID(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	for range 2 {
		for _, q := range []string{profilesOf, activeAmong, mailableAmong, judgedAmong} {
			plan, err := s.Explain(t.Context(), q)
			must(t, err)
			all := strings.Join(plan, "\n")
			if len(plan) != 2 || !strings.HasPrefix(all, "SCAN j VIRTUAL TABLE") ||
				!strings.Contains(all, "SEARCH s USING PRIMARY KEY (list_id=? AND id=?)") {
				t.Errorf("%s\n%s", q, all)
			}
		}
		s.SkewStatistics()
	}
}
