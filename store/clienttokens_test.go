package store_test

import (
	"testing"
	"time"

	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// The first token of a client isn't written either, so it can be issued while the disk is full.
func TestFirstClientTokenWritesNothing(t *testing.T) {
	n := storetest.SeedList(t, now0)
	before := n.Stats().Ops
	if _, err := n.ClientTokenID(t.Context()); err != nil || n.Stats().Ops != before {
		t.Errorf("%d operations, %v", n.Stats().Ops-before, err)
	}
}

// A clock that was days ahead for a while doesn't make a revoked token valid again. The revocation is swept later.
func TestRevokedClientTokensAreKeptForDays(t *testing.T) {
	n := storetest.SeedList(t, now0)
	sid, err := n.ClientTokenID(t.Context())
	n.Must(err)
	n.Must(n.RevokeFamily(t.Context(), sid, now0))
	for _, days := range []time.Duration{6, 8} {
		_, err = n.Housekeeping(t.Context(), people.Retention{}, now0.Add(days*24*time.Hour))
		n.Must(err)
		if revoked, err := n.ClientTokenRevoked(t.Context(), sid); err != nil || revoked != (days == 6) {
			t.Errorf("after %d days: revoked %t, %v", days, revoked, err)
		}
	}
}
