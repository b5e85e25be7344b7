package identity

import (
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/store/db"
)

// TestIdentityPlans checks that the frequent statements of identity use an index.
func TestIdentityPlans(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "n.db"), db.Daemon)
	for _, q := range []string{
		tokenState, refreshState, rotatedState, selectTokenClient,
		"SELECT " + UserColumns + " FROM user WHERE email_key = ?",
		userTokenQuery, mailedAddressQuery, mailedStyleQuery,
	} {
		plan, err := s.Explain(t.Context(), q)
		must(t, err)
		for _, step := range plan {
			if strings.HasPrefix(step, "SCAN") && step != "SCAN CONSTANT ROW" {
				t.Errorf("%s: %s", q, step)
			}
		}
	}
}

// TestClientsEndByIndex checks that, with any statistics of SQLite, the statements that end a client's tokens read only
// the rows they need. The same applies to those that find a user's clients and endpoints, or a tenant's owners.
func TestClientsEndByIndex(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	for _, skewed := range []bool{false, true} {
		if skewed {
			s.SkewStatistics()
		}
		for _, q := range []string{deleteCodesOf, endFamiliesOf, clientsKept, selectOwners, endpointsKept} {
			plan, err := s.Explain(t.Context(), q)
			if err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			for _, detail := range plan {
				if strings.HasPrefix(detail, "SCAN") && detail != "SCAN CONSTANT ROW" &&
					detail != "SCAN hand" && detail != "SCAN kept" {
					t.Errorf("statistics %v: %s\n%s", skewed, q, detail)
				}
			}
		}
	}
}
