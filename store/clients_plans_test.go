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
			rows, err := s.readers.Queryx("EXPLAIN QUERY PLAN "+q, make([]any, 15)...)
			if err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			for rows.Next() {
				var id, parent, unused int
				var detail string
				if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(detail, "SCAN") && detail != "SCAN CONSTANT ROW" {
					t.Errorf("statistics %v: %s\n%s", skewed, q, detail)
				}
			}
			rows.Close()
		}
	}
}
