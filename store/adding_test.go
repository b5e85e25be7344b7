package store

import (
	"testing"

	"newsletterd/core"
)

func (n newsletter) add(email core.Email, status string, at core.Instant) (core.Subscription, bool, error) {
	n.Helper()
	return n.AddSubscription(n.Context(),
		SubscriptionInput{ListID: n.list, Email: email, Status: status, Source: "by telephone"}, "command:ops", at)
}

func TestAddedByAnOperator(t *testing.T) {
	n := testNewsletter(t)
	sub, changed, err := n.add("Ann@example.org", "active", now0)
	if err != nil || !changed || sub.Status != "active" || sub.Proof != core.ProofAdmin {
		t.Fatalf("%+v, %v, %v", sub, changed, err)
	}
	ledger, err := n.Consents(t.Context(), n.list, sub.ID)
	if err != nil || len(ledger) != 1 || ledger[0].What != core.ConsentImported || ledger[0].Proof != core.ProofAdmin ||
		ledger[0].Source != "by telephone" {
		t.Errorf("ledger: %+v, %v", ledger, err)
	}
	if got := n.events(); len(got) != 1 || n.count("SELECT count(*) FROM mail") != 0 ||
		n.audited("subscription.create") != 1 {
		t.Errorf("events %v, or a mail, or no audit", got)
	}
	for _, status := range []string{"active", "pending"} { // again: nothing
		if sub, changed, err := n.add("ann@example.org", status,
			now0+5); err != nil || changed || sub.Status != "active" {
			t.Errorf("%s again: %+v, %v, %v", status, sub, changed, err)
		}
	}
	if len(n.events()) != 1 || n.audited("subscription.create") != 1 {
		t.Error("again, with an event or in the audit trail")
	}

	sub, changed, err = n.add("bob@example.org", "pending", now0)
	if err != nil || !changed || sub.Status != "pending" {
		t.Fatalf("%+v, %v, %v", sub, changed, err)
	}
	if n.count("SELECT count(*) FROM mail WHERE state = 0 AND kind = 'confirm' AND email_key = "+
		"'bob@example.org'") != 1 || len(n.events()) != 1 {
		t.Error("no confirmation mail, or an event of a pending one")
	}
	if sub, changed, err = n.add("bob@example.org", "active",
		now0+6); err != nil || !changed || sub.Status != "active" || sub.Proof != core.ProofAdmin {
		t.Errorf("%+v, %v, %v", sub, changed, err)
	}
}

func TestAddingBringsNobodyBack(t *testing.T) {
	n := testNewsletter(t)
	n.active("left@example.org", now0)
	if _, err := n.leave("left@example.org", now0+10); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Disable(t.Context(), DisableRequest{Email: "disabled@example.org"}, now0); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Suppress(t.Context(), DisableRequest{
		Email: "suppressed@example.org", TenantID: n.tenant,
		OccurredAt: now0,
	}, "ops", now0); err != nil {
		t.Fatal(err)
	}
	n.known("bounced@example.org", now0)
	n.sql("UPDATE subscriber SET block = 'bounced', block_at = ? WHERE email_key = 'bounced@example.org'", int64(now0))
	n.active("erased@example.org", now0)
	if _, err := n.leave("erased@example.org", now0+10); err != nil {
		t.Fatal(err)
	}
	if _, err := n.ErasePerson(t.Context(), core.Person{Email: "erased@example.org", TenantID: n.tenant}, "ops",
		now0+11); err != nil {
		t.Fatal(err)
	}
	events := len(n.events())
	for _, who := range []core.Email{"left", "disabled", "suppressed", "bounced", "erased"} {
		for _, status := range []string{"active", "pending"} {
			if sub, _, err := n.add(who+"@Example.org", status, now0+20); core.KindOf(err) != core.Conflict {
				t.Errorf("%s as %s: %+v, %v", who, status, sub, err)
			}
		}
	}
	if len(n.events()) != events || n.count("SELECT count(*) FROM mail WHERE kind = 'confirm' AND created_at >= ?",
		int64(now0+20)) != 0 {
		t.Error("an event, or a confirmation mail")
	}
}

func TestUnsubscribedByAnOperator(t *testing.T) {
	n := testNewsletter(t)
	n.active("ann@example.org", now0)
	before := len(n.events())
	l := UnsubscribeRequest{
		ListID: n.list, SubscriptionID: n.SubscriptionID(n.list, "ann@example.org"), Email: "ann@example.org",
		Proof: core.ProofAdmin, Actor: "command:ops", Origin: core.Origin{Source: "command:ops"},
	}
	for range 2 {
		sub, err := n.Unsubscribe(t.Context(), l, now0+10)
		if err != nil || sub.Status != "unsubscribed" {
			t.Fatalf("%+v, %v", sub, err)
		}
	}
	if len(n.events()) != before+1 || n.audited("subscription.delete") != 1 {
		t.Errorf("%d events, %d lines of the audit trail", len(n.events())-before, n.audited("subscription.delete"))
	}
	if n.count("SELECT count(*) FROM consent WHERE what = 'unsubscribed' AND means = 'admin' AND source = "+
		"'command:ops'") != 1 {
		t.Error("not in the ledger")
	}
}
