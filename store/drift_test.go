package store

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"newsletterd/core"
)

// batch posts a full sync of one batch as a client.
func (n newsletter) batch(client string, at core.Instant, subs ...core.EventSubscriber) {
	n.Helper()
	f := core.FullSync{
		SyncID: core.NewID(), BatchNo: 1, BatchTotal: 1, TenantID: n.tenant, ListID: n.list,
		Subscribers: subs, OccurredAt: at,
	}
	if err := n.ApplyBatch(n.Context(), Nonce{ClientID: client, Nonce: core.NewID()}, f, at); err != nil {
		n.Fatal(err)
	}
	for more := true; more; {
		var err error
		if more, err = n.RemoveAbsent(n.Context(), at); err != nil {
			n.Fatal(err)
		}
	}
}

// deliver applies what waits in the outbox, as the loop by which the daemon posts to itself does.
func (n newsletter) deliver(at core.Instant) {
	n.Helper()
	due, err := n.DueEvents(n.Context(), "", at, 1000)
	if err != nil {
		n.Fatal(err)
	}
	for i := range due {
		var e core.Event
		if err := json.Unmarshal([]byte(due[i].Body), &e); err != nil {
			n.Fatal(err)
		}
		if err := n.ApplyEvent(n.Context(), Nonce{ClientID: core.LoopClientID, Nonce: core.NewID()}, e,
			at); err != nil {
			n.Fatal(err)
		}
		if err := n.FinishEvents(n.Context(), []EventResult{{Event: &due[i], Done: true}}, at); err != nil {
			n.Fatal(err)
		}
	}
}

// syncAll copies the list to the send side whole.
func (n newsletter) syncAll(now core.Instant) {
	n.Helper()
	id, err := n.RequestSync(n.Context(), n.list, now)
	if err != nil {
		n.Fatal(err)
	}
	y, err := n.Sync(n.Context(), id)
	if err == nil {
		err = n.PlanSync(n.Context(), &y, now)
	}
	if err != nil || y.BatchTotal != 1 {
		n.Fatal(y.BatchTotal, err)
	}
	batches, err := n.OpenBatches(n.Context(), id, 0, 10)
	if err != nil {
		n.Fatal(err)
	}
	subs, err := n.SyncSubscribers(n.Context(), &y, &batches[0])
	if err != nil {
		n.Fatal(err)
	}
	n.batch(core.LoopClientID, y.StartedAt, subs...)
	if err := n.FinishBatches(n.Context(), []BatchResult{{SyncID: id, BatchNo: 1, Done: true}}, now); err != nil {
		n.Fatal(err)
	}
	if done, err := n.FinishSync(n.Context(), id, now); err != nil || !done {
		n.Fatal(done, err)
	}
}

func TestDrift(t *testing.T) {
	n := testNewsletter(t)
	for _, email := range []core.Email{
		"same", "missing", "stopped", "running", "unknown", "different", "pending",
		"flying",
	} {
		n.activate(email+"@example.org", now0)
	}
	n.deliver(now0)
	drift := func() core.Drift {
		d, err := n.Drift(t.Context(), n.list, 20)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if d := drift(); d.Total() != 0 || d.MemberActive != 8 || d.SendActive != 8 || d.FedBy != "" {
		t.Fatalf("before: %+v", d)
	}
	n.sql("DELETE FROM subscriber WHERE email_key = 'missing@example.org'")
	n.sql("UPDATE subscriber SET word = 'unsubscribed' WHERE email_key = 'stopped@example.org'")
	n.sql("UPDATE subscription SET status = 'unsubscribed' WHERE email_key = 'running@example.org'")
	n.sql("DELETE FROM subscription WHERE email_key = 'unknown@example.org'")
	n.sql("UPDATE subscription SET status = 'pending' WHERE email_key = 'pending@example.org'")
	n.sql(`UPDATE subscriber SET preferences = '{"x":1}' WHERE email_key = 'different@example.org'`)
	if _, err := n.leave("flying@example.org", now0+5); err != nil {
		t.Fatal(err)
	}
	d := drift()
	want := core.Drift{
		ListID: n.list, MemberActive: 4, MemberUnsubscribed: 2, MemberPending: 1, SendActive: 6, SendUnsubscribed: 1,
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
	// A full sync puts all of it right.
	n.deliver(now0 + 6)
	n.syncAll(now0 + 9)
	if d := drift(); d.Total() != 0 {
		t.Errorf("after a full sync: %+v", d)
	}
}

// A full sync of the daemon's own ends no one whom another member service has announced, and is not sent at all; that
// service's own still does.
func TestForeignFedLists(t *testing.T) {
	n := testNewsletter(t)
	a := core.EventSubscriber{ID: core.NewID(), Email: "a@example.org", Status: "active"}
	b := core.EventSubscriber{ID: core.NewID(), Email: "b@example.org", Status: "active"}
	word := func(e core.Email) string {
		s, err := n.Subscriber(t.Context(), n.list, e)
		if err != nil {
			return err.Error()
		}
		return string(s.MemberStatus)
	}
	n.batch("other", now0, a, b)
	if _, err := n.RequestSync(t.Context(), n.list, now0); !errors.Is(err, ErrForeignFed) {
		t.Errorf("own sync: %v", err)
	}
	n.batch(core.LoopClientID, now0+10)
	if word(a.Email) != "active" {
		t.Error("the daemon's own sync has ended another service's subscriber")
	}
	n.batch("other", now0+20, a)
	if word(a.Email) != "active" || word(b.Email) != "unsubscribed" {
		t.Errorf("their own: a %s, b %s", word(a.Email), word(b.Email))
	}
	n.batch("third", now0+25, b) // who speaks last feeds the list, but ends no one of another's by that
	if word(a.Email) != "active" {
		t.Error("a stranger's first sync has ended another service's subscriber")
	}
	n.batch("third", now0+30, b)
	if word(a.Email) != "unsubscribed" {
		t.Errorf("the new feeder's: a %s", word(a.Email))
	}
	if err := n.TakeOver(t.Context(), n.list, "test", now0+40); err != nil {
		t.Error(err)
	}
	if _, err := n.RequestSync(t.Context(), n.list, now0+50); err != nil {
		t.Error(err)
	}
	n.batch(core.LoopClientID, now0+60)
	if word(b.Email) != "unsubscribed" {
		t.Error("taken over, and nobody is ended")
	}
}

// A change that asks for a sync while one is being planned must not rely on it: the walk over the list may have passed
// it. And a sync takes in what was stamped by a clock that has gone back since.
func TestSyncTakesInWhatItWasAskedFor(t *testing.T) {
	n := testNewsletter(t)
	ask := func(now, changed core.Instant) (id string) {
		err := n.update(t.Context(), func(tx *Tx) (err error) {
			id, err = tx.requestSync(n.tenant, n.list, now, changed)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	first := ask(now0, now0+900)
	if again := ask(now0, now0+500); again != first {
		t.Error("one that waits was not taken")
	}
	y, err := n.Sync(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.PlanSync(t.Context(), &y, now0+100); err != nil || y.StartedAt <= now0+900 {
		t.Errorf("it begins at %d, %v", y.StartedAt-now0, err)
	}
	n.sql("UPDATE sync SET batch_total = 0 WHERE id = ?", first) // as in the middle of the plan
	if second := ask(now0+200, now0+200); second == first {
		t.Error("one that is being planned was taken")
	}
}
