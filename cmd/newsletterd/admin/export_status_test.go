package admin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/core"
	"newsletterd/store/imports"
	"newsletterd/store/storetest"
	"newsletterd/store/subscribercsv"
	"newsletterd/store/tenants"
)

// TestExportSaysWhoGetsNothing checks that an export states why some addresses get no email, and that importing it does
// not activate them.
func TestExportSaysWhoGetsNothing(t *testing.T) {
	s := storetest.Open(t)
	at := now()
	tenant, err := core.NewTenant(core.TenantInput{Name: new("Acme")}, at)
	if err == nil {
		err = s.AddTenant(t.Context(), tenant, "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	list, err := core.NewList(core.ListInput{TenantID: &tenant.ID, Name: new("News")}, at)
	if err == nil {
		err = s.AddList(t.Context(), list, "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	im, err := s.NewImport(t.Context(), list.ID, core.SubscriptionActive, "test")
	if err == nil {
		err = im.Add(t.Context(), []imports.ImportRow{
			{Email: "ann@example.org"},
			{Email: "bob@example.org"},
			{Email: "cat@example.org"},
		}, at)
	}
	if err != nil {
		t.Fatal(err)
	}
	for email, status := range map[core.Email]string{"ann@example.org": "bounced", "bob@example.org": "complaint"} {
		err := s.ApplyEvent(t.Context(), tenants.Nonce{ClientID: core.LoopClientID, Nonce: core.NewID()}, core.Event{
			ID: core.NewID(), Type: core.EventActivated, TenantID: tenant.ID, ListID: list.ID, OccurredAt: at,
			Subscriber: core.EventSubscriber{Email: email, Status: status},
		}, at)
		if err != nil {
			t.Fatal(err)
		}
	}
	c := &cli.Context{Context: context.Background()}
	rows := func(status string) subscriptionReader {
		return func(take func(*core.Subscription) error) error { return allSubscriptions(c, s, list.ID, status, take) }
	}
	var all, active strings.Builder
	if n, err := writeSubscriptions(t.Context(), s, false, &all, rows("")); err != nil || n != 3 {
		t.Fatal(n, err)
	}
	for _, want := range []string{"ann@example.org,bounced,", "bob@example.org,complaint,", "cat@example.org,active,"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no %q in\n%s", want, all.String())
		}
	}
	if n, err := writeSubscriptions(t.Context(), s, false, &active, rows("active")); err != nil || n != 1 {
		t.Error(n, err, active.String())
	}
	for _, word := range []string{"bounced", "complaint", "suppressed"} {
		r, err := subscribercsv.NewReader(strings.NewReader("email,status\nann@example.org,"+word+"\n"),
			subscribercsv.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Next(); !errors.Is(err, subscribercsv.ErrLeft) {
			t.Errorf("an import takes %q: %v", word, err)
		}
	}
}
