package store_test

import (
	"testing"

	"newsletterd/core"
	"newsletterd/store/members"
	"newsletterd/store/storetest"
)

// The preferences link is sent only to addresses that the tenant knows, at most three times a day through the page of a
// list. In any case, a row is written.
func TestPreferencesLink(t *testing.T) {
	n := storetest.SeedList(t, now0)
	other := n.NewList().ID
	n.Active(n.ListID, "ann@example.org")
	n.Request(n.ListID, "off@example.org", "")
	if _, err := n.Disable(t.Context(), members.DisableRequest{Email: "off@example.org"}, now0); err != nil {
		t.Fatal(err)
	}
	rows, queued := 0, 0
	for i, c := range []struct {
		list, email string
		queued      bool
	}{
		{n.ListID, "ann@example.org", true},
		{n.ListID, "ANN@example.org", true},
		{n.ListID, "ann@example.org", true},
		{n.ListID, "ann@example.org", false},
		{other, "ann@example.org", true}, // address that the tenant knows, but that is not on this list
		{n.ListID, "nobody@example.org", false},
		{n.ListID, "off@example.org", false},
	} {
		if err := n.RequestPreferencesLink(t.Context(), c.list, core.Email(c.email), now0+100); err != nil {
			t.Fatal(err)
		}
		rows++
		if c.queued {
			queued++
		}
		if got := n.Count("SELECT count(*) FROM mail WHERE kind = 'preferences'"); got != rows {
			t.Errorf("%d: %d rows, want %d", i, got, rows)
		}
		if got := n.Count("SELECT count(*) FROM mail WHERE kind = 'preferences' AND state = 0"); got != queued {
			t.Errorf("%d, %s: %d queued, want %d", i, c.email, got, queued)
		}
	}
}

func TestUnsubscribeAllOfATenant(t *testing.T) {
	n := storetest.SeedList(t, now0)
	other := n.NewTenant().ID
	second, foreign := n.NewList().ID, n.NewList(func(in *core.ListInput) { in.TenantID = &other }).ID
	first := n.ListID
	for _, list := range []string{first, second, foreign} {
		n.ListID = list
		n.Active(n.ListID, "ann@example.org")
	}
	l := members.UnsubscribeRequest{Email: "Ann@example.org", Proof: core.ProofMailed, Reason: "content"}
	for _, want := range []int{2, 0} {
		if got, err := n.UnsubscribeAll(t.Context(), n.TenantID, l, now0+50); err != nil || len(got) != want {
			t.Errorf("%v, %v; want %d", got, err, want)
		}
	}
	if got := n.Count("SELECT count(*) FROM subscription WHERE status = 'active'"); got != 1 {
		t.Errorf("%d are active still", got)
	}
	if got := n.Count("SELECT count(*) FROM outbox WHERE event_type = 'subscription.unsubscribed'"); got != 2 {
		t.Errorf("%d events", got)
	}
	if got := n.Count("SELECT count(*) FROM consent WHERE what = 'unsubscribed' AND reason = 'content'"); got != 2 {
		t.Errorf("%d rows of the ledger with the reason", got)
	}
	held, err := n.SubscriptionsAt(t.Context(), n.TenantID, "ann@example.org")
	if err != nil || len(held) != 2 || held[0].Status != core.SubscriptionUnsubscribed || held[0].ListName != "Weekly" {
		t.Errorf("%+v, %v", held, err)
	}
}

// The ledger refers to the consent text that the subscriber agreed to, and that text stays readable permanently.
func TestLedgerNamesTheConsentText(t *testing.T) {
	n := storetest.SeedList(t, now0)
	var versions []string
	for _, text := range []string{"First.", "Second.", "First."} {
		l, err := n.UpdateList(t.Context(), n.ListID, "command",
			func(l *core.List) error { return l.Change(core.ListInput{ConsentText: &text}, now0) })
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, l.ConsentVersion())
	}
	if versions[0] != versions[2] || versions[0] == versions[1] {
		t.Errorf("versions %q", versions)
	}
	for i, want := range []string{"First.", "Second."} {
		if got, err := n.ConsentText(t.Context(), n.ListID, versions[i]); err != nil || got != want {
			t.Errorf("%q, %v", got, err)
		}
	}
	_, row, err := n.Subscribe(t.Context(),
		members.SubscribeRequest{ListID: n.ListID, Email: "ann@example.org", TextVersion: versions[1]}, now0)
	if err == nil {
		_, err = n.Confirm(t.Context(), n.Token(row, core.ProofMailed), core.Origin{}, now0+1)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := n.Count("SELECT count(*) FROM consent WHERE what = 'requested' AND text_version = ?",
		versions[1]); got != 1 {
		t.Errorf("%d rows name it", got)
	}
}
