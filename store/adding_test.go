package store_test

import (
	"testing"

	"newsletterd/core"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/storetest"
)

// added adds a subscription as an operator does.
func added(n *storetest.Seeder, email core.Email, status string, at core.Instant) (core.Subscription, bool, error) {
	n.Helper()
	return n.AddSubscription(n.Context(),
		imports.SubscriptionInput{ListID: n.ListID, Email: email, Status: status, Source: "by telephone"}, "command:ops",
		at)
}

func TestAddedByAnOperator(t *testing.T) {
	n := storetest.SeedList(t, now0)
	sub, changed, err := added(n, "Ann@example.org", "active", now0)
	if err != nil || !changed || sub.Status != "active" || sub.Proof != core.ProofAdmin {
		t.Fatalf("%+v, %v, %v", sub, changed, err)
	}
	ledger, err := n.Consents(t.Context(), n.ListID, sub.ID)
	if err != nil || len(ledger) != 1 || ledger[0].What != core.ConsentImported || ledger[0].Proof != core.ProofAdmin ||
		ledger[0].Source != "by telephone" {
		t.Errorf("ledger: %+v, %v", ledger, err)
	}
	if got := n.Events(); len(got) != 1 || n.Count("SELECT count(*) FROM mail") != 0 ||
		n.Audited("subscription.create") != 1 {
		t.Errorf("events %v, or a mail, or no audit", got)
	}
	for _, status := range []string{"active", "pending"} { // adding the address again changes nothing
		if sub, changed, err := added(n, "ann@example.org", status,
			now0+5); err != nil || changed || sub.Status != "active" {
			t.Errorf("%s again: %+v, %v, %v", status, sub, changed, err)
		}
	}
	if len(n.Events()) != 1 || n.Audited("subscription.create") != 1 {
		t.Error("again, with an event or in the audit trail")
	}

	sub, changed, err = added(n, "bob@example.org", "pending", now0)
	if err != nil || !changed || sub.Status != "pending" {
		t.Fatalf("%+v, %v, %v", sub, changed, err)
	}
	if n.Count("SELECT count(*) FROM mail WHERE state = 0 AND kind = 'confirm' AND email_key = "+
		"'bob@example.org'") != 1 || len(n.Events()) != 1 {
		t.Error("no confirmation mail, or an event of a pending one")
	}
	if sub, changed, err = added(n, "bob@example.org", "active",
		now0+6); err != nil || !changed || sub.Status != "active" || sub.Proof != core.ProofAdmin {
		t.Errorf("%+v, %v, %v", sub, changed, err)
	}
}

// Preferences are stored for an address that is new to the list. For an existing subscriber, they change nothing.
func TestAddedWithPreferences(t *testing.T) {
	n := storetest.SeedList(t, now0)
	add := func(p core.Preferences) (core.Subscription, bool) {
		t.Helper()
		sub, changed, err := n.AddSubscription(t.Context(), imports.SubscriptionInput{
			ListID: n.ListID, Email: "ann@example.org", Status: core.SubscriptionActive, Preferences: p,
		}, "command:ops", now0)
		n.Must(err)
		return sub, changed
	}
	if sub, changed := add(`{"city":"Bonn"}`); !changed || sub.Preferences != `{"city":"Bonn"}` {
		t.Errorf("%+v, %v", sub, changed)
	}
	if sub, changed := add(`{"city":"Ulm"}`); changed || sub.Preferences != `{"city":"Bonn"}` {
		t.Errorf("again: %+v, %v", sub, changed)
	}
}

func TestAddingBringsNobodyBack(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Active(n.ListID, "left@example.org")
	n.At(now0+10).Leave(n.ListID, "left@example.org")
	if _, err := n.Disable(t.Context(), members.DisableRequest{Email: "disabled@example.org"}, now0); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Suppress(t.Context(), members.DisableRequest{
		Email: "suppressed@example.org", TenantID: n.TenantID,
		OccurredAt: now0,
	}, "ops", now0); err != nil {
		t.Fatal(err)
	}
	n.Active(n.ListID, "bounced@example.org")
	n.Deliver()
	n.SQL("UPDATE subscriber SET block = 'bounced', block_at = ? WHERE email_key = 'bounced@example.org'", int64(now0))
	n.Active(n.ListID, "erased@example.org")
	n.At(now0+10).Leave(n.ListID, "erased@example.org")
	if _, err := n.ErasePerson(t.Context(), core.Person{Email: "erased@example.org", TenantID: n.TenantID}, "ops",
		now0+11); err != nil {
		t.Fatal(err)
	}
	events := len(n.Events())
	for _, who := range []core.Email{"left", "disabled", "suppressed", "bounced", "erased"} {
		for _, status := range []string{"active", "pending"} {
			if sub, _, err := added(n, who+"@Example.org", status, now0+20); core.KindOf(err) != core.Conflict {
				t.Errorf("%s as %s: %+v, %v", who, status, sub, err)
			}
		}
	}
	if len(n.Events()) != events || n.Count("SELECT count(*) FROM mail WHERE kind = 'confirm' AND created_at >= ?",
		int64(now0+20)) != 0 {
		t.Error("an event, or a confirmation mail")
	}
}

func TestUnsubscribedByAnOperator(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Active(n.ListID, "ann@example.org")
	before := len(n.Events())
	l := members.UnsubscribeRequest{
		ListID: n.ListID, SubscriptionID: n.SubscriptionID(n.ListID, "ann@example.org"), Email: "ann@example.org",
		Proof: core.ProofAdmin, Actor: "command:ops", Origin: core.Origin{Source: "command:ops"},
	}
	for range 2 {
		sub, err := n.Unsubscribe(t.Context(), l, now0+10)
		if err != nil || sub.Status != "unsubscribed" {
			t.Fatalf("%+v, %v", sub, err)
		}
	}
	if len(n.Events()) != before+1 || n.Audited("subscription.delete") != 1 {
		t.Errorf("%d events, %d lines of the audit trail", len(n.Events())-before, n.Audited("subscription.delete"))
	}
	if n.Count("SELECT count(*) FROM consent WHERE what = 'unsubscribed' AND means = 'admin' AND source = "+
		"'command:ops'") != 1 {
		t.Error("not in the ledger")
	}
}

// A person who was erased and then confirms on one list is back only on that list. Files and operators don't add the
// person to another list.
func TestErasedReturnToOneList(t *testing.T) {
	const bob = core.Email("bob@example.org")
	n := storetest.SeedList(t, now0)
	other := n.NewList()
	n.Active(n.ListID, bob)
	_, err := n.ErasePerson(t.Context(), core.Person{Email: bob, TenantID: n.TenantID}, "ops", now0+10)
	n.Must(err)
	n = n.At(now0 + 1000)
	token := n.Pending(other.ID, bob)
	there := *n // the same seeder for the other list
	there.ListID = other.ID
	imported(&there, now0+2000, joins(bob))
	if got := statusOf(&there, bob); got != core.SubscriptionPending {
		t.Errorf("a file makes them %q before they confirm", got)
	}
	n.Must(n.Confirm(t.Context(), token, core.Origin{}, now0+3000))
	if j := imported(n, now0+4000, joins(bob)); j.Kept != 1 || statusOf(n, bob) != "" {
		t.Errorf("a file: %+v, %q", j.ImportCounts, statusOf(n, bob))
	}
	if _, _, err := added(n, bob, core.SubscriptionActive, now0+5000); core.KindOf(err) != core.Conflict {
		t.Errorf("by an operator: %v", err)
	}
	row := joins(bob)
	row.Preferences = `{"city":"Bonn"}`
	if j := imported(&there, now0+6000, row); j.Updated != 1 {
		t.Errorf("a file into the list that they are on: %+v", j.ImportCounts)
	}
	if sub, changed, err := added(&there, bob, core.SubscriptionActive, now0+7000); err != nil || changed {
		t.Errorf("an operator, on the list that they are on: %+v, %v", sub, err)
	}
	if j := imported(&there, now0+8000, leaves(bob, now0+7500)); j.Unsubscribed != 1 ||
		statusOf(&there, bob) != "unsubscribed" {
		t.Errorf("a file that says that they left: %+v", j.ImportCounts)
	}
	n.At(now0+9000).Active(n.ListID, bob)
	if got := statusOf(n, bob); got != core.SubscriptionActive {
		t.Errorf("they come back to the first list as %q", got)
	}
	consistent(n)
}

// An operator can add a person whom a file has imported. The ledger records that. Undoing the file doesn't remove the
// person, and a file that marks them as unsubscribed without a time doesn't unsubscribe them. An operator can't add a
// person whom a file marks as unsubscribed.
func TestAddedAfterAFile(t *testing.T) {
	const bob = core.Email("bob@example.org")
	n := storetest.SeedList(t, now0)
	join := joins(bob)
	join.Evidence = "opted in 2021-05-01T00:00:00Z"
	first := imported(n, now0, join)
	over := imported(n, now0+1000, leaves(bob, inMarch)) // has no effect, because Bob joined in May
	if sub, changed, err := added(n, bob, core.SubscriptionPending, now0+1500); err != nil || changed {
		t.Errorf("to be confirmed: %+v, %v, %v", sub, changed, err)
	}
	sub, changed, err := added(n, bob, core.SubscriptionActive, now0+2000)
	if err != nil || !changed || sub.Proof != core.ProofAdmin || n.Audited("subscription.create") != 1 ||
		len(n.Events()) != 1 {
		t.Errorf("%+v, %v, %v", sub, changed, err)
	}
	ledger, err := n.Consents(t.Context(), n.ListID, sub.ID)
	if n.Must(err); len(ledger) != 2 || ledger[0].Source != "by telephone" && ledger[1].Source != "by telephone" {
		t.Errorf("the record: %+v", ledger)
	}
	undone(n, first.ID, now0+3000)
	imported(n, now0+4000, leaves(bob, 0))
	if got := statusOf(n, bob); got != core.SubscriptionActive {
		t.Errorf("after an undo and a file: %q", got)
	}
	last := imported(n, now0+5000, leaves(bob, now0+4500))
	for _, undo := range []string{"", over.ID, last.ID} {
		want := core.SubscriptionUnsubscribed
		if undo != "" {
			undone(n, undo, now0+6000)
		}
		if undo == last.ID {
			want = core.SubscriptionActive
		} else if _, _, err := added(n, bob, core.SubscriptionActive, now0+7000); core.KindOf(err) != core.Conflict {
			t.Errorf("they left: %v", err)
		}
		if got := statusOf(n, bob); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	consistent(n)
}
