package store_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/members"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
)

func TestDrift(t *testing.T) {
	n := storetest.SeedList(t, now0)
	for _, email := range []core.Email{
		"same", "missing", "stopped", "running", "unknown", "different", "pending",
		"flying",
	} {
		n.Active(n.ListID, email+"@example.org")
	}
	n.Deliver()
	drift := func() core.Drift {
		d, err := n.Drift(t.Context(), n.ListID, 20)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if d := drift(); d.Total() != 0 || d.MemberActive != 8 || d.SendActive != 8 || d.FedBy != "" {
		t.Fatalf("before: %+v", d)
	}
	n.SQL("DELETE FROM subscriber WHERE email_key = 'missing@example.org'")
	n.SQL("UPDATE subscriber SET word = 'unsubscribed' WHERE email_key = 'stopped@example.org'")
	n.SQL("UPDATE subscription SET status = 'unsubscribed' WHERE email_key = 'running@example.org'")
	n.SQL("DELETE FROM subscription WHERE email_key = 'unknown@example.org'")
	n.SQL("UPDATE subscription SET status = 'pending' WHERE email_key = 'pending@example.org'")
	n.SQL(`UPDATE subscriber SET preferences = '{"x":1}' WHERE email_key = 'different@example.org'`)
	n.At(now0+5).Leave(n.ListID, "flying@example.org")
	d := drift()
	want := core.Drift{
		ListID: n.ListID, MemberActive: 4, MemberUnsubscribed: 2, MemberPending: 1, SendActive: 6, SendUnsubscribed: 1,
		Missing: 1, Stopped: 1, Running: 1, Unknown: 2, Different: 1, InFlight: 1,
	}
	sample := d.Sample
	if d.Sample = nil; !reflect.DeepEqual(d, want) || len(sample) != 6 {
		t.Errorf("%+v\nwant %+v\nsample %+v", d, want, sample)
	}
	for _, s := range sample {
		if who, _, _ := strings.Cut(s.Email, "@"); who != s.What && who != "pending" {
			t.Errorf("%+v", s)
		}
	}
	// A full sync corrects all differences.
	n.At(now0 + 6).Deliver()
	at := n.At(now0 + 9)
	y := at.Plan(n.ListID)
	batches, err := n.OpenBatches(t.Context(), y.ID, 0, 10)
	n.Must(err)
	subs, err := n.SyncSubscribers(t.Context(), &y, &batches[0])
	n.Must(err)
	n.At(y.StartedAt).Synced(core.List{ID: n.ListID, TenantID: n.TenantID}, core.LoopClientID, subs...)
	n.Must(n.FinishBatches(t.Context(), y.ID, []members.BatchResult{{BatchNo: 1, Done: true}}, 0, at.Now))
	if done, err := n.FinishSync(t.Context(), y.ID, at.Now); err != nil || !done || y.BatchTotal != 1 {
		t.Fatal(done, err, y.BatchTotal)
	}
	if d := drift(); d.Total() != 0 {
		t.Errorf("after a full sync: %+v", d)
	}
}

// A full sync by the daemon is not sent for a list that another member service feeds, so it ends no subscriptions
// there. That service's own full sync still does.
func TestForeignFedLists(t *testing.T) {
	n := storetest.SeedList(t, now0)
	l := core.List{ID: n.ListID, TenantID: n.TenantID}
	a := core.EventSubscriber{ID: core.NewID(), Email: "a@example.org", Status: "active"}
	b := core.EventSubscriber{ID: core.NewID(), Email: "b@example.org", Status: "active"}
	word := func(e core.Email) string {
		s, err := n.Subscriber(t.Context(), n.ListID, e)
		if err != nil {
			return err.Error()
		}
		return string(s.MemberStatus)
	}
	n.Synced(l, "other", a, b)
	if _, err := n.RequestSync(t.Context(), n.ListID, now0); !errors.Is(err, tenants.ErrForeignFed) {
		t.Errorf("own sync: %v", err)
	}
	n.At(now0+10).Synced(l, core.LoopClientID)
	if word(a.Email) != "active" {
		t.Error("the daemon's own sync has ended another service's subscriber")
	}
	n.At(now0+20).Synced(l, "other", a)
	if word(a.Email) != "active" || word(b.Email) != "unsubscribed" {
		t.Errorf("their own: a %s, b %s", word(a.Email), word(b.Email))
	}
	n.At(now0+25).Synced(l, "third", b) // third feeds the list now; its first sync ends no one
	if word(a.Email) != "active" {
		t.Error("a stranger's first sync has ended another service's subscriber")
	}
	n.At(now0+30).Synced(l, "third", b)
	if word(a.Email) != "unsubscribed" {
		t.Errorf("the new feeder's: a %s", word(a.Email))
	}
	if err := n.TakeOver(t.Context(), n.ListID, "test", now0+40); err != nil {
		t.Error(err)
	}
	if _, err := n.RequestSync(t.Context(), n.ListID, now0+50); err != nil {
		t.Error(err)
	}
	n.At(now0+60).Synced(l, core.LoopClientID)
	if word(b.Email) != "unsubscribed" {
		t.Error("taken over, and nobody is ended")
	}
}
