package store

import (
	"path/filepath"
	"strings"
	"testing"
)

// What ends the tokens of a client, and finds the clients of a user and the owners of a tenant, reads what it is about
// alone, whatever SQLite has noted of the tables.
func TestClientsEndByIndex(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	for _, skewed := range []bool{false, true} {
		if skewed {
			s.SkewStatistics()
		}
		for _, q := range []string{deleteCodesOf, endFamiliesOf, clientsOf, selectOwners} {
			plan, err := s.Explain(t.Context(), q)
			if err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			for _, detail := range plan {
				if strings.HasPrefix(detail, "SCAN") && detail != "SCAN CONSTANT ROW" {
					t.Errorf("statistics %v: %s\n%s", skewed, q, detail)
				}
			}
		}
	}
}
