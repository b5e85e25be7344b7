package tenants

import (
	"context"

	"newsletterd/core"
)

// TenantsAt returns the active tenants whose public_url has a host (with its port, where that is not the scheme's own),
// the oldest first. Its only error is core.ErrStorage.
func (s *Store) TenantsAt(ctx context.Context, host string) (ts []core.Tenant, err error) {
	err = s.All(ctx, &ts, tenantsAt,
		"https://"+host, "http://"+host, core.TenantActive)
	return ts, err
}
