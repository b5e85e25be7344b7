package tenants

import (
	"context"

	"newsletterd/core"
)

// TenantsAt returns the active tenants whose public_url has the given host, oldest first. The host includes the port
// unless it is the scheme's default port. The only error is core.ErrStorage.
func (s *Store) TenantsAt(ctx context.Context, host string) (ts []core.Tenant, err error) {
	err = s.All(ctx, &ts, tenantsAt,
		"https://"+host, "http://"+host, core.TenantActive)
	return ts, err
}
