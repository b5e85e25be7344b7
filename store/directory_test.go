package store_test

import (
	"slices"
	"testing"

	"newsletterd/core"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// matching returns all results of a search, and the number of pages.
func matching(n *storetest.Seeder, f people.SubscriptionFilter, limit int) (emails []string, pages int) {
	n.Helper()
	for next := ""; ; pages++ {
		found, after, err := n.MatchingSubscriptions(n.Context(), f, core.Page{After: next, Limit: limit})
		n.Must(err)
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
	n := storetest.SeedList(t, now0)
	rows := rowsOf(people.SearchReads + 700)
	rows[4321].Preferences = `{"n":1,"city":"Bonn"}`
	rows[77].Preferences = `{"first_name":"Özge","last_name":"van WEG"}`
	rows[88].Preferences = `{"name":"Gerd MÜLLER","first_name":7}`
	n.Import(n.ListID, core.SubscriptionActive, rows...)
	second, err := core.NewList(core.ListInput{Name: new("Second"), TenantID: new(n.TenantID)}, now0)
	n.Must(err)
	n.Must(n.AddList(t.Context(), second, "test"))
	_, _, err = n.AddSubscription(t.Context(), imports.SubscriptionInput{
		ListID: second.ID, Email: "r4321@example.org", Status: "active", Source: "test",
	}, "test", now0)
	n.Must(err)
	_, err = n.Suppress(t.Context(), members.DisableRequest{Email: "r17@example.org", OccurredAt: now0}, "test", now0)
	n.Must(err)

	ours := people.SubscriptionFilter{Tenants: []string{n.TenantID}}
	all, _ := matching(n, ours, 1000)
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != len(rows) || len(all) != len(rows)+1 {
		t.Errorf("%d rows in all pages, want each of %d once and one twice", len(all), len(rows))
	}
	for name, c := range map[string]struct {
		change func(*people.SubscriptionFilter)
		want   []string
	}{
		"prefix": {func(f *people.SubscriptionFilter) { f.Prefix = "r5699@" }, []string{"r5699@example.org"}},
		"field": {
			func(f *people.SubscriptionFilter) { f.Field, f.Value = "city", "Bonn" },
			[]string{"r4321@example.org"},
		},
		"number": {
			func(f *people.SubscriptionFilter) { f.Field, f.Value = "n", "99" },
			[]string{"r99@example.org"},
		},
		"name":            {func(f *people.SubscriptionFilter) { f.Search = "weg" }, []string{"r77@example.org"}},
		"name, small":     {func(f *people.SubscriptionFilter) { f.Search = "özge  VAN w" }, []string{"r77@example.org"}},
		"name, capital":   {func(f *people.SubscriptionFilter) { f.Search = "mül" }, []string{"r88@example.org"}},
		"middle of names": {func(f *people.SubscriptionFilter) { f.Search = "erd" }, nil},
		"name or address": {func(f *people.SubscriptionFilter) { f.Search = "R5699@ex" }, []string{"r5699@example.org"}},
		"name at an address": {
			func(f *people.SubscriptionFilter) { f.Email, f.Search = "r77@example.org", "ÖZ" },
			[]string{"r77@example.org"},
		},
		"left":        {func(f *people.SubscriptionFilter) { f.Status = "unsubscribed" }, []string{"r17@example.org"}},
		"pending":     {func(f *people.SubscriptionFilter) { f.Status = "pending" }, nil},
		"on one list": {func(f *people.SubscriptionFilter) { f.ListID = second.ID }, []string{"r4321@example.org"}},
		"address": {
			func(f *people.SubscriptionFilter) { f.Email = "R4321@example.org" },
			[]string{"r4321@example.org", "r4321@example.org"},
		},
		"address and status": {
			func(f *people.SubscriptionFilter) { f.Email, f.Status = "r1@example.org", "pending" },
			nil,
		},
		"another tenant": {func(f *people.SubscriptionFilter) { f.Tenants = []string{core.NewID()} }, nil},
	} {
		f := ours
		c.change(&f)
		if got, _ := matching(n, f, 10); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	f := ours
	f.Prefix = "nobody"
	if got, pages := matching(n, f, 10); len(got) != 0 || pages != 2 {
		t.Errorf("a search for nobody: %v in %d pages, want two of at most %d reads", got, pages, people.SearchReads)
	}
}

func TestListedSubscriptionShowsWhyNothingIsMailed(t *testing.T) {
	n := storetest.SeedList(t, now0)
	sub, _, err := added(n, "ann@example.org", "active", now0)
	n.Must(err)
	n.SQL(`INSERT INTO suppression (tenant_id, email_key, kind, reason, created_at)
		VALUES (?, 'ann@example.org', 'bounced', 'mailbox full', 1)`, n.TenantID)
	l, err := n.ListedSubscription(t.Context(), sub.ID, []string{n.TenantID}, false)
	if err != nil || l.Shown() != "bounced" || l.TenantID != n.TenantID {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := n.ListedSubscription(t.Context(), sub.ID, []string{core.NewID()},
		false); err != core.ErrSubscriptionNotFound {
		t.Errorf("of another tenant: %v", err)
	}
	if got, _ := matching(n, people.SubscriptionFilter{All: true, Status: "bounced"}, 5); len(got) != 1 {
		t.Errorf("bounced: %v", got)
	}
	if got, _ := matching(n, people.SubscriptionFilter{All: true, Status: "active"}, 5); len(got) != 0 {
		t.Errorf("active: %v", got)
	}
}
