package tenants

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
)

// ListWithTenant returns a list with its tenant. If one of them doesn't exist or was deleted, it returns
// core.ErrListNotFound.
func (s *Store) ListWithTenant(ctx context.Context, id string) (*core.ListWithTenant, error) {
	r, age := s.lists.Get(id)
	if r != nil {
		return r, nil
	}
	list, err := s.List(ctx, id)
	if err != nil {
		return nil, err
	}
	tenant, err := s.Tenant(ctx, list.TenantID)
	if err != nil {
		return nil, db.OrNotFound(err, core.ErrListNotFound)
	}
	r = &core.ListWithTenant{List: list, Tenant: tenant}
	if r.OnlyArchive, err = s.onlyArchive(ctx, r); err != nil {
		return nil, err
	}
	s.lists.Put(id, r, age)
	return r, nil
}

// onlyArchive reports whether a list has the only archive at its tenant's own host.
func (s *Store) onlyArchive(ctx context.Context, l *core.ListWithTenant) (bool, error) {
	if !l.Archive || l.Tenant.PublicURL == "" {
		return false, nil
	}
	archives, err := s.ArchivesAt(ctx, core.OriginHost(l.Tenant.PublicURL))
	return len(archives) == 1 && archives[0] == l.ID, err
}

// ListWithTenant is like Store.ListWithTenant, inside an operation. A cached record is at most one commit old, and
// every commit empties the cache before its callers get their results.
func ListWithTenant(tx *db.Tx, id string) (*core.ListWithTenant, error) {
	if r, _ := gatheredIn(tx).store.lists.Get(id); r != nil {
		return r, nil
	}
	list, err := ReadList(tx, id)
	if err != nil {
		return nil, err
	}
	tenant, err := ReadTenant(tx, list.TenantID)
	return &core.ListWithTenant{List: list, Tenant: tenant}, db.OrNotFound(err, core.ErrListNotFound)
}
