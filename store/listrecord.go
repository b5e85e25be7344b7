package store

import (
	"context"
	"encoding/json"
	"sync"

	"newsletterd/core"
)

// ListRecord is what a subscription must know of its list and its tenant. It is cached: the way of a request to
// subscribe must not read what changes once a month. Never change one.
type ListRecord struct {
	ID           string `db:"id"`
	TenantID     string `db:"tenant_id"`
	Name         string `db:"name"`
	Status       string `db:"status"`
	TenantStatus string `db:"tenant_status"`
	ConfirmToken string `db:"confirm_token"` // live, receipt, trusted; empty: the daemon's default
	RawDomains   string `db:"domains"`
	Domains      []string
}

// Active tells whether the list takes subscriptions.
func (l *ListRecord) Active() bool { return l.Status == "active" && l.TenantStatus == "active" }

const listRecordQuery = `SELECT l.id, l.tenant_id, l.name, l.status, t.status AS tenant_status, l.confirm_token, t.domains
	FROM list AS l JOIN tenant AS t ON t.id = l.tenant_id WHERE l.id = ? AND l.deleted_at = 0 AND t.deleted_at = 0`

// listCache holds records by id. Its age moves with every commit that may change one, so that a row read before such
// a commit is not kept after it.
type listCache struct {
	mu      sync.RWMutex
	age     uint64
	records map[string]*ListRecord
}

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

const maxListRecords = 10_000

// ListRecord returns the record of a list that is not deleted, nor its tenant. core.ErrListNotFound.
func (s *Store) ListRecord(ctx context.Context, id string) (*ListRecord, error) {
	r, age := s.lists.get(id)
	if r != nil {
		return r, nil
	}
	r = &ListRecord{}
	if err := s.get(ctx, r, listRecordQuery, id); err != nil {
		return nil, sharpen(err, core.ErrListNotFound)
	}
	if err := json.Unmarshal([]byte(r.RawDomains), &r.Domains); err != nil {
		return nil, err
	}
	s.lists.put(r, age)
	return r, nil
}

// listRecord is ListRecord inside an operation. What the cache holds is at most a commit old, and every commit
// empties it before anyone is answered.
func (tx *Tx) listRecord(id string) (*ListRecord, error) {
	if r, _ := tx.store.lists.get(id); r != nil {
		return r, nil
	}
	r := &ListRecord{}
	if err := tx.get(r, listRecordQuery, id); err != nil {
		return nil, sharpen(err, core.ErrListNotFound)
	}
	return r, json.Unmarshal([]byte(r.RawDomains), &r.Domains)
}
