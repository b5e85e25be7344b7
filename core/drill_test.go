package core

import (
	"slices"
	"testing"
)

func TestDrillCounts(t *testing.T) {
	t.Parallel()
	at := func(n int64) DrillCounts { return DrillCounts{Tenants: 1, Lists: 2, Users: 3, Subscriptions: n} }
	for _, c := range []struct {
		before, got, after int64
		want               []string
	}{
		{100, 100, 100, nil},
		{100, 105, 110, nil},
		{100, 115, 110, nil}, // ten rows were created, and five of them deleted
		{100, 99, 100, []string{"99 subscriptions were restored, not 100 to 100"}},
		{100, 89, 110, []string{"89 subscriptions were restored, not 100 to 110"}},
		{110, 121, 100, []string{"121 subscriptions were restored, not 100 to 110"}},
	} {
		if got := at(c.got).Differ(at(c.before), at(c.after)); !slices.Equal(got, c.want) {
			t.Errorf("%d between %d and %d: %q", c.got, c.before, c.after, got)
		}
	}
	if got := (DrillCounts{}).Differ(at(1), at(1)); len(got) != 4 {
		t.Errorf("nothing restored: %q", got)
	}
}
