package bulk_test

import (
	"slices"
	"testing"

	"newsletterd/core"
	"newsletterd/store/bulk"
	"newsletterd/store/db"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// everyone is a rule that matches all readers.
const everyone = `{"not":{"domain":"none.example"}}`

// An undo doesn't restore people who have since unsubscribed, bounced, complained, been blocked, or subscribed again on
// their own.
func TestUndoLeavesOthersAlone(t *testing.T) {
	for _, kind := range leaving {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, storetest.Open(t), 10)
			a := w.run(w.begin(bulk.Request{Kind: kind, Rule: w.rule(everyone)}))
			if a.Changed != 10 {
				t.Fatalf("%+v", a)
			}
			w.Seeder = w.At(w.Time() + hour)
			ctx, list := w.Context(), w.list.ID
			// Reader 0 uses the link in an email.
			if _, err := w.Unsubscribe(ctx, w.Leaving(list, storetest.Reader(0)), w.Time()); core.KindOf(err) !=
				core.NotFound {
				w.Must(err)
			}
			w.Tell(w.list, core.StatusBounced, storetest.Reader(1))
			w.Tell(w.list, core.StatusComplaint, storetest.Reader(2))
			w.sql("INSERT INTO suppression (tenant_id, email_key, kind, reason, created_at) VALUES "+
				"(?, ?, 'bounced', '', 1)", w.list.TenantID, storetest.Reader(3).Key())
			w.sql("INSERT INTO disabled (email_key, tenant_id, reason, disabled_by, occurred_at, created_at) VALUES "+
				"(?, '', '', '', 1, 1)", storetest.Reader(4).Key())
			w.Active(list, storetest.Reader(5))
			w.Leave(list, storetest.Reader(5))
			w.Pending(list, storetest.Reader(6))
			_, err := w.UnsubscribeAll(ctx, w.list.TenantID, members.UnsubscribeRequest{
				Email: storetest.Reader(7), Proof: core.ProofMailed,
			}, w.Time())
			w.Must(err)
			_, err = w.ErasePerson(ctx, core.Person{Email: storetest.Reader(8), TenantID: w.list.TenantID}, "user:ann",
				w.Time())
			w.Must(err)
			w.Deliver()
			if a = w.undo(a); a.State != core.BulkUndone || a.Restored != 1 {
				t.Errorf("%+v", a)
			}
			w.Deliver()
			for k := range 10 {
				if sent := w.Status(list, storetest.Reader(k)) == core.StatusActive; sent != (k == 9) {
					t.Errorf("%d is mailed: %v", k, sent)
				}
			}
			if is := w.MemberStatus(list, storetest.Reader(6)); is != core.SubscriptionPending {
				t.Errorf("someone who asked again is %s", is)
			}
		})
	}
}

// An unsubscribe through a link that anyone can request doesn't count as the person's own.
func TestRequestedLinksDontCount(t *testing.T) {
	w := newWorld(t, storetest.Open(t), 2)
	a := w.run(w.begin(bulk.Request{Kind: core.BulkUnsubscribe, Rule: w.rule(everyone)}))
	w.Seeder = w.At(w.Time() + hour)
	l := w.Leaving(w.list.ID, storetest.Reader(0))
	l.Proof = core.ProofResponse
	_, err := w.Unsubscribe(w.Context(), l, w.Time())
	w.Must(err)
	if a = w.undo(a); a.Restored != 2 {
		t.Errorf("%+v", a)
	}
}

// An action can be canceled and undone while it runs. After a week it can't be undone, and the records of people are
// deleted.
func TestStopsAndSweeps(t *testing.T) {
	bulk.HoldFor(0)
	defer bulk.HoldFor(holdFor)
	w := newWorld(t, storetest.Open(t), 6)
	ids := []string{}
	for k := range 4 {
		ids = append(ids, w.SubscriptionID(w.list.ID, storetest.Reader(k).Key()))
	}
	a := w.begin(bulk.Request{Kind: core.BulkUnsubscribe, IDs: ids})
	if _, err := w.UndoBulk(w.Context(), a.ID, "user:ann", w.Time()); core.KindOf(err) != core.Conflict {
		t.Errorf("undone before anything changed: %v", err)
	}
	a, err := w.CancelBulk(w.Context(), a.ID, "user:ann", w.Time())
	w.Must(err)
	a = w.run(a)
	kept := w.number("SELECT count(*) FROM bulk_person")
	if a.State != core.BulkCancelled || a.Changed+int64(kept) != 0 {
		t.Errorf("%+v, %d people are kept", a, kept)
	}
	if _, err := w.CancelBulk(w.Context(), a.ID, "user:ann", w.Time()); core.KindOf(err) != core.Conflict {
		t.Errorf("canceled twice: %v", err)
	}
	a = w.run(w.begin(bulk.Request{Kind: core.BulkRemove, IDs: ids}))
	w.Seeder = w.At(w.Time() + core.Instant(core.BulkKept.Milliseconds()) - 1)
	w.Clean(people.Retention{})
	if n := w.number("SELECT count(*) FROM bulk_person"); n != 4 {
		t.Errorf("%d people are kept for a week, want 4", n)
	}
	w.Seeder = w.At(w.Time() + 2)
	w.Clean(people.Retention{})
	if n := w.number("SELECT count(*) FROM bulk_person"); n != 0 {
		t.Errorf("%d people are kept after a week", n)
	}
	if _, err := w.UndoBulk(w.Context(), a.ID, "user:ann", w.Time()); core.KindOf(err) != core.Conflict {
		t.Errorf("undone after a week: %v", err)
	}
}

// Undoing a running action stops it.
func TestUndoWhileItRuns(t *testing.T) {
	w := newWorld(t, storetest.Open(t), 6)
	a := w.begin(bulk.Request{Kind: core.BulkUnsubscribe, Rule: w.rule(everyone)})
	w.sql("UPDATE bulk_action SET changed = 1 WHERE id = ?", a.ID)
	if a = w.undo(a); a.State != core.BulkUndone || a.Restored != 0 {
		t.Errorf("%+v", a)
	}
	w.counts(6, 0)
}

// Deleting a list ends its actions.
func TestDeletedListEndsActions(t *testing.T) {
	w := newWorld(t, storetest.Open(t), 4)
	ids := []string{w.SubscriptionID(w.list.ID, storetest.Reader(0).Key())}
	all := []core.BulkAction{
		w.begin(bulk.Request{Kind: core.BulkUnsubscribe, Rule: w.rule(everyone)}),
		w.begin(bulk.Request{Kind: core.BulkUnsubscribe, IDs: ids}),
		w.run(w.begin(bulk.Request{Kind: core.BulkRemove, IDs: ids})),
	}
	_, err := w.UndoBulk(w.Context(), all[2].ID, "user:ann", w.Time())
	w.Must(err)
	w.Must(w.DeleteList(w.Context(), w.list.ID, "user:ann", w.Time()))
	for i, want := range []string{core.BulkCancelled, core.BulkCancelled, core.BulkCancelled} {
		if a := w.run(all[i]); a.State != want {
			t.Errorf("%+v, want %s", a, want)
		}
	}
	if _, _, err := w.NextBulk(w.Context(), ""); core.KindOf(err) != core.NotFound {
		t.Errorf("something is open: %v", err)
	}
}

// Undoing an action requires an active list. After the list is active again, the undo restores everyone.
func TestUndoNeedsTheList(t *testing.T) {
	for _, kind := range []string{core.BulkUnsubscribe, core.BulkRemove} {
		w := newWorld(t, storetest.Open(t), 3)
		a := w.run(w.begin(bulk.Request{Kind: kind, Rule: w.rule(everyone)}))
		undo := func() error {
			_, err := w.UndoBulk(w.Context(), a.ID, "user:ann", w.Time())
			return err
		}
		status := func(status string) {
			w.sql("UPDATE list SET status = ? WHERE id = ?", status, w.list.ID)
		}
		status(core.ListInactive)
		if err := undo(); core.KindOf(err) != core.Conflict {
			t.Errorf("%s: undone on an inactive list: %v", kind, err)
		}
		status(core.ListActive)
		w.Must(undo())
		status(core.ListInactive)
		if is := w.run(a); is.State != core.BulkCancelled || is.Restored != 0 {
			t.Errorf("%s: %+v", kind, is)
		}
		status(core.ListActive)
		w.Must(w.DeleteList(w.Context(), w.list.ID, "user:ann", w.Time()))
		if err := undo(); core.KindOf(err) != core.Conflict {
			t.Errorf("%s: undone on a deleted list: %v", kind, err)
		}
		_, err := w.RestoreList(w.Context(), w.list.ID, "user:ann", w.Time())
		w.Must(err)
		if a = w.undo(a); a.State != core.BulkUndone || a.Restored != 3 {
			t.Errorf("%s: %+v", kind, a)
		}
	}
}

// Tenants take turns, and each has a limited number of open actions.
func TestTenantsTakeTurns(t *testing.T) {
	w := newWorld(t, storetest.Open(t), 2)
	other := w.NewTenant()
	l := w.NewList(func(in *core.ListInput) { in.TenantID = &other.ID })
	r := bulk.Request{ListID: l.ID, Kind: core.BulkUnsubscribe, Rule: w.rule(everyone), Actor: "user:ann"}
	for range core.MaxOpenBulk {
		w.Must(w.StartBulk(w.Context(), r, w.Time()))
	}
	if _, err := w.StartBulk(w.Context(), r, w.Time()); core.KindOf(err) != core.Conflict {
		t.Errorf("one too many: %v", err)
	}
	ours := w.begin(bulk.Request{Kind: core.BulkUnsubscribe, Rule: w.rule(everyone)})
	last, turns := "", []string{}
	for range 4 {
		_, tenant, err := w.NextBulk(w.Context(), last)
		w.Must(err)
		last, turns = tenant, append(turns, tenant)
	}
	if turns[0] == turns[1] || turns[0] != turns[2] || turns[1] != turns[3] || !slices.Contains(turns, ours.TenantID) {
		t.Errorf("%v", turns)
	}
}

// Endpoints get an event for each of the first changes and one event for the rest. A remote send service gets events
// for the first thousand unsubscribes and a full sync for the rest. For removals, it gets only single events.
func TestAnnouncements(t *testing.T) {
	const events, n = 3, imports.MaxSingle + 5
	w := newWorld(t, storetest.OpenWith(t, db.Options{ImportEvents: events, SendElsewhere: true}), n)
	w.sql("DELETE FROM outbox")
	w.sql("DELETE FROM sync")
	crm := w.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/all")})
	ids := make([]string, n)
	for k := range n {
		ids[k] = w.SubscriptionID(w.list.ID, storetest.Reader(k).Key())
	}
	waiting := func(endpoint string) (all []string) {
		w.Must(w.All(w.Context(), &all, "SELECT event_type FROM outbox WHERE endpoint_id = ? ORDER BY id", endpoint))
		return all
	}
	expect := func(endpoint, eventType string, n int, summary ...string) {
		t.Helper()
		want := append(slices.Repeat([]string{eventType}, n), summary...)
		if got := waiting(endpoint); !slices.Equal(got, want) {
			t.Errorf("%d events, want %d: %v", len(got), len(want), got[max(0, len(got)-5):])
		}
	}
	half := [][]string{ids[:imports.MaxSingle], ids[imports.MaxSingle:]}
	var done []core.BulkAction
	for _, part := range half {
		done = append(done, w.begin(bulk.Request{Kind: core.BulkUnsubscribe, IDs: part}))
	}
	w.sql("UPDATE bulk_action SET announced = ? WHERE id = ?", imports.MaxSingle-2, done[1].ID)
	for i := range done {
		if done[i] = w.run(done[i]); done[i].Changed != int64(len(half[i])) {
			t.Fatalf("%+v", done[i])
		}
	}
	expect("", core.EventUnsubscribed, imports.MaxSingle+2)
	expect(crm.ID, core.EventUnsubscribed, events, core.EventBulkEnded, core.EventBulkEnded)
	if n := w.number("SELECT count(*) FROM sync WHERE list_id = ?", w.list.ID); n != 1 {
		t.Errorf("%d full syncs, want 1", n)
	}
	w.sql("DELETE FROM outbox")
	w.undo(done[1])
	expect("", core.EventActivated, 5)
	expect(crm.ID, core.EventActivated, events, core.EventBulkEnded)
	w.sql("DELETE FROM outbox")
	a := w.begin(bulk.Request{Kind: core.BulkRemove, IDs: half[1]})
	w.sql("UPDATE bulk_action SET announced = ? WHERE id = ?", imports.MaxSingle, a.ID)
	w.run(a)
	expect("", core.EventUnsubscribed, 5)
}
