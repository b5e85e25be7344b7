package store

import (
	"slices"
	"testing"

	"newsletterd/core"
)

// matching reads all pages of a search, and how many there were.
func (n newsletter) matching(f SubscriptionFilter, limit int) (emails []string, pages int) {
	n.Helper()
	for next := ""; ; pages++ {
		found, after, err := n.MatchingSubscriptions(n.Context(), f, core.Page{After: next, Limit: limit})
		must(n.T, err)
		if len(found) > limit {
			n.Fatalf("%d rows, at most %d were asked for", len(found), limit)
		}
		for i := range found {
			emails = append(emails, string(found[i].Email))
		}
		if next = after; next == "" {
			return emails, pages + 1
		}
	}
}

func TestMatchingSubscriptions(t *testing.T) {
	n := testNewsletter(t)
	rows := rowsOf(searchReads + 700)
	rows[4321].Preferences = `{"n":1,"city":"Bonn"}`
	n.importFile(core.SubscriptionActive, rows...)
	second, err := core.NewList(core.ListInput{Name: new("Second"), TenantID: new(n.tenant)}, now0)
	must(t, err)
	must(t, n.AddList(t.Context(), second, "test"))
	_, _, err = n.AddSubscription(t.Context(), SubscriptionInput{second.ID, "r4321@example.org", "active", "test"},
		"test", now0)
	must(t, err)
	_, err = n.Suppress(t.Context(), DisableRequest{Email: "r17@example.org", OccurredAt: now0}, "test", now0)
	must(t, err)

	ours := SubscriptionFilter{Tenants: []string{n.tenant}}
	all, _ := n.matching(ours, 1000)
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != len(rows) || len(all) != len(rows)+1 {
		t.Errorf("%d rows in all pages, want each of %d once and one twice", len(all), len(rows))
	}
	for name, c := range map[string]struct {
		change func(*SubscriptionFilter)
		want   []string
	}{
		"prefix":      {func(f *SubscriptionFilter) { f.Prefix = "r5699@" }, []string{"r5699@example.org"}},
		"field":       {func(f *SubscriptionFilter) { f.Field, f.Value = "city", "Bonn" }, []string{"r4321@example.org"}},
		"number":      {func(f *SubscriptionFilter) { f.Field, f.Value = "n", "99" }, []string{"r99@example.org"}},
		"left":        {func(f *SubscriptionFilter) { f.Status = "unsubscribed" }, []string{"r17@example.org"}},
		"pending":     {func(f *SubscriptionFilter) { f.Status = "pending" }, nil},
		"on one list": {func(f *SubscriptionFilter) { f.ListID = second.ID }, []string{"r4321@example.org"}},
		"address": {
			func(f *SubscriptionFilter) { f.Email = "R4321@example.org" },
			[]string{"r4321@example.org", "r4321@example.org"},
		},
		"address and status": {func(f *SubscriptionFilter) { f.Email, f.Status = "r1@example.org", "pending" }, nil},
		"another tenant":     {func(f *SubscriptionFilter) { f.Tenants = []string{core.NewID()} }, nil},
	} {
		f := ours
		c.change(&f)
		if got, _ := n.matching(f, 10); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	f := ours
	f.Prefix = "nobody"
	if got, pages := n.matching(f, 10); len(got) != 0 || pages != 2 {
		t.Errorf("a search for nobody: %v in %d pages, want two of at most %d reads", got, pages, searchReads)
	}
}

func TestListedSubscriptionShowsWhyNothingIsMailed(t *testing.T) {
	n := testNewsletter(t)
	sub, _, err := n.add("ann@example.org", "active", now0)
	must(t, err)
	must(t, n.update(t.Context(), func(tx *Tx) error {
		return tx.suppress(n.tenant, "ann@example.org", core.StatusBounced, "mailbox full", now0)
	}))
	l, err := n.ListedSubscription(t.Context(), sub.ID, []string{n.tenant}, false)
	if err != nil || l.Shown() != "bounced" || l.TenantID != n.tenant {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := n.ListedSubscription(t.Context(), sub.ID, []string{core.NewID()},
		false); err != core.ErrSubscriptionNotFound {
		t.Errorf("of another tenant: %v", err)
	}
	if got, _ := n.matching(SubscriptionFilter{All: true, Status: "bounced"}, 5); len(got) != 1 {
		t.Errorf("bounced: %v", got)
	}
	if got, _ := n.matching(SubscriptionFilter{All: true, Status: "active"}, 5); len(got) != 0 {
		t.Errorf("active: %v", got)
	}
}
