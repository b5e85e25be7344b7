package store

import (
	"slices"
	"testing"
)

// Every noun has a query, and its records are found by the beginning of their ids.
func TestReferencesOfEveryNoun(t *testing.T) {
	n := testNewsletter(t)
	n.fillPerson(annKey)
	for noun := range references {
		all, err := n.References(t.Context(), noun, "", "", 10)
		must(t, err)
		for _, r := range all {
			if len(r.ID) < 36 { // made up by fillPerson
				continue
			}
			found, err := n.References(t.Context(), noun, r.ID[:12], "", 10)
			must(t, err)
			if !slices.Contains(found, r) {
				t.Errorf("%s: %q finds %v", noun, r.ID[:12], found)
			}
		}
	}
}
