package tenants

import (
	"context"

	"newsletterd/core"
)

// HasDomain reports whether host is a domain of an active tenant. The only error is core.ErrStorage.
func (s *Store) HasDomain(ctx context.Context, host string) (bool, error) {
	domains, age := s.domains.Get("")
	if domains == nil {
		var all []core.Strings
		if err := s.All(ctx, &all,
			"SELECT domains FROM tenant WHERE status = 'active' AND deleted_at = 0"); err != nil {
			return false, err
		}
		domains = map[string]bool{}
		for _, some := range all {
			for _, d := range some {
				domains[d] = true
			}
		}
		s.domains.Put("", domains, age)
	}
	return domains[host], nil
}
