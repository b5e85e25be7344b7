package store

import (
	"context"

	"newsletterd/core"
)

// TenantsAt returns the active tenants whose public_url has a host (with its port, where that is not the scheme's own), the oldest
// first.
func (s *Store) TenantsAt(ctx context.Context, host string) (ts []core.Tenant, err error) {
	err = s.all(ctx, &ts, "SELECT "+tenantRead+" FROM tenant WHERE public_url IN (?, ?) AND deleted_at = 0 AND status = ? ORDER BY id",
		"https://"+host, "http://"+host, core.TenantActive)
	return ts, err
}
