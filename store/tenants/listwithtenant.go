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
	s.lists.Put(id, r, age)
	return r, nil
}

// ListWithTenant is Store.ListWithTenant inside an operation. A cached record is at most one commit old, and every
// commit empties the cache before its callers get their results.
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
