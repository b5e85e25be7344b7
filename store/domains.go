package store

import (
	"context"
	"sync"

	"newsletterd/core"
)

// domainCache holds the domains of all active tenants, as listCache holds lists.
type domainCache struct {
	mu      sync.RWMutex
	age     uint64
	domains map[string]bool // nil: not read
}

func (c *domainCache) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.age++
	c.domains = nil
}

// HasDomain tells whether a host is a domain of some active tenant.
func (s *Store) HasDomain(ctx context.Context, host string) (bool, error) {
	c := &s.domains
	c.mu.RLock()
	domains, age := c.domains, c.age
	c.mu.RUnlock()
	if domains == nil {
		var all []core.Strings
		if err := s.all(ctx, &all, "SELECT domains FROM tenant WHERE status = 'active' AND deleted_at = 0"); err != nil {
			return false, err
		}
		domains = map[string]bool{}
		for _, some := range all {
			for _, d := range some {
				domains[d] = true
			}
		}
		c.mu.Lock()
		if c.age == age {
			c.domains = domains
		}
		c.mu.Unlock()
	}
	return domains[host], nil
}
