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

// archivesAt selects a tenant's lists that have an archive.
const archivesAt = `SELECT id FROM list WHERE tenant_id = ? AND archive AND deleted_at = 0 ORDER BY id`

// ArchivesAt returns the ids of the lists with an archive at a host, oldest first. If several tenants have the host,
// these are the lists of the oldest tenant. host and the error are as for TenantsAt.
func (s *Store) ArchivesAt(ctx context.Context, host string) (ids []string, err error) {
	owners, err := s.TenantsAt(ctx, host)
	if err != nil || len(owners) == 0 {
		return nil, err
	}
	err = s.All(ctx, &ids, archivesAt, owners[0].ID)
	return ids, err
}
