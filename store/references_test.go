package store_test

import (
	"slices"
	"testing"

	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// Every noun has a query that finds its records by a prefix of their id.
func TestReferencesOfEveryNoun(t *testing.T) {
	n := storetest.SeedList(t, now0)
	fillPerson(n, annKey)
	for noun := range people.ReferenceQueries {
		all, err := n.References(t.Context(), noun, "", "", 10)
		n.Must(err)
		for _, r := range all {
			if len(r.ID) != 36 { // invented by fillPerson
				continue
			}
			found, err := n.References(t.Context(), noun, r.ID[:12], "", 10)
			n.Must(err)
			if !slices.Contains(found, r) {
				t.Errorf("%s: %q finds %v", noun, r.ID[:12], found)
			}
		}
	}
}
