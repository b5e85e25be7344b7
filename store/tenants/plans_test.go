package tenants

import (
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/store/db"
)

// Tags are found through the list and the id of a person, or through their tenant, with any SQLite statistics.
func TestTagsAreFoundByIndex(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	person := "SEARCH t USING PRIMARY KEY (list_id=? AND id=?)"
	known := "SEARCH subscription USING PRIMARY KEY (list_id=? AND id=?)"
	for range 2 {
		for query, want := range map[string]string{
			taggedPeople: person, tagsOfPerson: person, TagsOfPairs: person, tagNames: person,
			knownTriples: known, knownPairs: known, TagsOfTenant: "SEARCH g USING INDEX tag_name (tenant_id=?)",
		} {
			plan, err := s.Explain(t.Context(), query)
			must(t, err)
			all := strings.Join(plan, "\n")
			if !strings.Contains(all, want) {
				t.Errorf("%s\n%s", query, all)
			}
			for _, line := range plan {
				if strings.HasPrefix(line, "SCAN ") && !strings.HasPrefix(line, "SCAN p VIRTUAL TABLE") ||
					strings.Contains(line, "AUTOMATIC") {
					t.Errorf("%s\n%s", query, line)
				}
			}
		}
		s.SkewStatistics()
	}
}
