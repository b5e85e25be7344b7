package store

import (
	"context"

	"newsletterd/core"
)

// ListWithTenant returns a list with its tenant, neither of them deleted. It returns core.ErrListNotFound where there
// is none.
func (s *Store) ListWithTenant(ctx context.Context, id string) (*core.ListWithTenant, error) {
	r, age := s.lists.get(id)
	if r != nil {
		return r, nil
	}
	list, err := s.List(ctx, id)
	if err != nil {
		return nil, err
	}
	tenant, err := s.Tenant(ctx, list.TenantID)
	if err != nil {
		return nil, orNotFound(err, core.ErrListNotFound)
	}
	r = &core.ListWithTenant{List: list, Tenant: tenant}
	s.lists.put(id, r, age)
	return r, nil
}

// listWithTenant is ListWithTenant inside an operation. What the cache holds is at most a commit old, and every commit
// empties it before anyone is answered.
func (tx *Tx) listWithTenant(id string) (*core.ListWithTenant, error) {
	if r, _ := gatheredIn(tx).store.lists.get(id); r != nil {
		return r, nil
	}
	list, err := tx.list(id)
	if err != nil {
		return nil, err
	}
	tenant, err := tx.tenant(list.TenantID)
	return &core.ListWithTenant{List: list, Tenant: tenant}, orNotFound(err, core.ErrListNotFound)
}
