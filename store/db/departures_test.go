package db

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
)

// TestDeparturesAreCountedByTenant checks that a departure changes the number of its tenant, and that a departure for
// all tenants changes every number. A failed operation changes none.
func TestDeparturesAreCountedByTenant(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	other := ""
	for i := 0; other == "" || s.departures.tenant(other) == s.departures.tenant("a"); i++ {
		other = fmt.Sprint("b", i)
	}
	failed := errors.New("failed")
	for _, c := range []struct {
		left        string
		err         error
		own, others bool
	}{{"a", nil, true, false}, {other, nil, false, true}, {"", nil, true, true}, {"a", failed, false, false}} {
		own, others := s.Departures("a"), s.Departures(other)
		err := s.Update(t.Context(), func(tx *Tx) error {
			tx.Departs(c.left)
			tx.Departs(c.left)
			return c.err
		})
		if !errors.Is(err, c.err) {
			t.Fatal(err)
		}
		if (s.Departures("a") != own) != c.own || (s.Departures(other) != others) != c.others {
			t.Errorf("%+v: %d to %d, and %d to %d", c, own, s.Departures("a"), others, s.Departures(other))
		}
	}
}
