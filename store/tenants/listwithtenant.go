package tenants

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
)

// ListWithTenant returns a list with its tenant, neither of them deleted. It returns core.ErrListNotFound where there
// is none.
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

// ListWithTenant is ListWithTenant inside an operation. What the cache holds is at most a commit old, and every commit
// empties it before anyone is answered.
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
