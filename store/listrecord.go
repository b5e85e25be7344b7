package store

import (
	"context"
	"sync"

	"newsletterd/core"
)

// ListRecord is a list with its tenant. It is cached: the way of a request to subscribe must not read what changes
// once a month. Never change one.
type ListRecord struct {
	core.List
	Tenant core.Tenant
}

// Active tells whether the list takes subscriptions.
func (l *ListRecord) Active() bool { return l.List.Active() && l.Tenant.Active() }

// listCache holds records by id. Its age moves with every commit that may change one, so that a row read before such
// a commit is not kept after it.
type listCache struct {
	mu      sync.RWMutex
	age     uint64
	records map[string]*ListRecord
}

const maxListRecords = 10_000

func (c *listCache) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.age++
	clear(c.records)
}

func (c *listCache) get(id string) (*ListRecord, uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.records[id], c.age
}

func (c *listCache) put(r *ListRecord, age uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.age != age {
		return
	}
	if c.records == nil || len(c.records) >= maxListRecords {
		c.records = map[string]*ListRecord{}
	}
	c.records[r.ID] = r
}

// ListRecord returns a list with its tenant, neither of them deleted. core.ErrListNotFound.
func (s *Store) ListRecord(ctx context.Context, id string) (*ListRecord, error) {
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
		return nil, sharpen(err, core.ErrListNotFound)
	}
	r = &ListRecord{list, tenant}
	s.lists.put(r, age)
	return r, nil
}

// listRecord is ListRecord inside an operation. What the cache holds is at most a commit old, and every commit
// empties it before anyone is answered.
func (tx *Tx) listRecord(id string) (*ListRecord, error) {
	if r, _ := tx.store.lists.get(id); r != nil {
		return r, nil
	}
	list, err := tx.list(id)
	if err != nil {
		return nil, err
	}
	tenant, err := tx.tenant(list.TenantID)
	return &ListRecord{list, tenant}, sharpen(err, core.ErrListNotFound)
}
