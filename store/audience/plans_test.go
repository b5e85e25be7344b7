package audience

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/db/dbtest"
)

// Subscribers are read in order through their list, and segments and campaigns through their tenant, with any SQLite
// statistics.
func TestPlans(t *testing.T) {
	d := db.New(db.Options{Path: filepath.Join(t.TempDir(), "a.db"), Mode: db.Daemon, Migrate: true})
	if err := d.Open(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	byID := "SEARCH s USING PRIMARY KEY (list_id=? AND id>? AND id<?)"
	for range 2 {
		for query, want := range map[string]string{
			peopleOf:                   byID,
			selectSegment:              "USING PRIMARY KEY (id=?)",
			campaigns.SegmentsOfTenant: "USING INDEX segment_name (tenant_id=?",
			relatives:                  "USING INDEX segment_name (tenant_id=?)",
			campaignsUsing:             "USING INDEX campaign_tenant (tenant_id=?",
		} {
			plan, err := d.Explain(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(plan, "\n")
			if !strings.Contains(all, want) {
				t.Errorf("%s\n%s", query, all)
			}
			for _, line := range plan {
				if strings.HasPrefix(line, "SCAN") && !strings.HasPrefix(line, "SCAN json_each") &&
					!strings.HasPrefix(line, "SCAN (subquery") ||
					strings.Contains(line, "AUTOMATIC") {
					t.Errorf("%s\n%s", query, line)
				}
			}
		}
		dbtest.SkewStatistics(d)
	}
}
