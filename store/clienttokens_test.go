package store_test

import (
	"testing"

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
