package db

import (
	"hash/maphash"
	"slices"
	"sync/atomic"
)

// departures holds counters of the commits after which a person may no longer get email: one counter for commits that
// affect all tenants, and others for commits that affect one. Tenants share a fixed number of counters. A shared
// counter can only cause a needless check.
type departures struct {
	all atomic.Uint64
	of  [1024]atomic.Uint64
}

var departureSeed = maphash.MakeSeed()

func (d *departures) tenant(id string) *atomic.Uint64 {
	return &d.of[maphash.String(departureSeed, id)%uint64(len(d.of))]
}

// note adds the departures of an operation to the counters.
func (d *departures) note(left leavers) {
	for _, id := range left {
		if id == "" {
			d.all.Add(1)
		} else {
			d.tenant(id).Add(1)
		}
	}
}

// Departures returns a number that changes with every commit after which a person may no longer get a tenant's email,
// and with every commit of another process. It changes before the caller of that commit gets its result. If it has the
// same value before and after a check, the check still holds.
func (s *DB) Departures(tenantID string) uint64 {
	return s.departures.all.Load() + s.departures.tenant(tenantID).Load()
}

// leavers lists the tenants that may no longer email a person after an operation. An empty id means all tenants.
type leavers []string

func (l *leavers) add(tenantID string) {
	if !slices.Contains(*l, tenantID) {
		*l = append(*l, tenantID)
	}
}
