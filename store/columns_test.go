package store

import (
	"path/filepath"
	"slices"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db"
)

// A record stays the same when it is written and read back, whichever fields are set.
func TestRecordsAreWrittenByTheirFields(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	table := db.TableOf[core.Tenant]("tenant", []string{"relays", "send_limits"}, []string{"created_at"})
	for _, tenant := range []core.Tenant{
		{ID: "a", Status: core.TenantActive},
		{
			ID: "b", Name: "B", Status: core.TenantSuspended, Domains: core.Strings{"b.example"}, NoTracking: true,
			CreatedAt: 1, UpdatedAt: 2,
		},
	} {
		err := s.Update(t.Context(), func(tx *db.Tx) error {
			if _, err := db.InsertRow(tx, &table,
				&core.Tenant{ID: tenant.ID, Status: core.TenantActive, CreatedAt: tenant.CreatedAt}); err != nil {
				return err
			}
			return db.UpdateRow(tx, &table, &tenant, tenant.ID)
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Tenant(t.Context(), tenant.ID)
		if err != nil || got.Name != tenant.Name || got.Status != tenant.Status || !slices.Equal(got.Domains,
			tenant.Domains) ||
			got.NoTracking != tenant.NoTracking || got.CreatedAt != tenant.CreatedAt ||
			got.UpdatedAt != tenant.UpdatedAt {
			t.Errorf("%+v was written, and %+v read: %v", tenant, got, err)
		}
	}
	err := s.Update(t.Context(), func(tx *db.Tx) error { return db.UpdateRow(tx, &table, &core.Tenant{}, "none") })
	if core.KindOf(err) != core.NotFound {
		t.Errorf("an update of no row: %v", err)
	}
}
