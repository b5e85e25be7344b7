package store_test

import (
	"testing"

	"newsletterd/core"
	"newsletterd/store/storetest"
)

// TestMaskedSubscriptionIDs checks that a masked id maps to exactly one id, has the same form, and differs from it.
func TestMaskedSubscriptionIDs(t *testing.T) {
	s := storetest.Seed(t, nil)
	seen := map[string]bool{}
	for range 1000 {
		id := s.SubscriptionID(core.NewID(), "ada@example.org")
		masked := s.MaskedSubscriptionID(id)
		if _, ok := core.ParseID(masked); !ok || masked[14] != '8' || masked == id || seen[masked] {
			t.Fatalf("%s is masked as %s", id, masked)
		}
		seen[masked] = true
		if got := s.UnmaskedSubscriptionID(masked); got != id {
			t.Fatalf("%s is masked as %s, which stands for %s", id, masked, got)
		}
	}
	for _, none := range []string{"", "x", core.NewID()} {
		if a, b := s.MaskedSubscriptionID(none), s.UnmaskedSubscriptionID(none); a != "" || b != "" {
			t.Errorf("%q: %q, %q", none, a, b)
		}
	}
}
