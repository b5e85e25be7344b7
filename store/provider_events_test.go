package store_test

import (
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
)

// providerWorld is a tenant with two lists and a job that was sent to their subscribers.
type providerWorld struct {
	*storetest.Seeder
	lists [2]core.List
	job   core.SendJob
	keys  int
}

func newProviderWorld(t *testing.T) *providerWorld {
	w := &providerWorld{Seeder: storetest.Seed(t, nil).At(core.At(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)))}
	w.lists = [2]core.List{w.NewList(), w.NewList()}
	monthAgo := w.At(w.Now.Add(-30 * 24 * time.Hour))
	monthAgo.Tell(w.lists[0], core.StatusActive, "ann@example.org", "bob@example.org", "cleo@example.org")
	monthAgo.Tell(w.lists[1], core.StatusActive, "ann@example.org", "zoe@example.org")
	w.job = w.Finish(w.NewJob(w.lists[0].ID))
	return w
}

// seq returns the position of an address among the recipients. They are sorted by their derived ids, which differ in
// each database.
func (w *providerWorld) seq(email string) int64 {
	rows, err := w.Recipients(w.Context(), &w.job, campaigns.RecipientFilter{}, core.Page{Limit: 10})
	w.Must(err)
	for _, r := range rows {
		if r.Email == email {
			return r.Seq
		}
	}
	w.Fatalf("%s is no recipient", email)
	return 0
}

func (w *providerWorld) report(r core.ProviderReport) {
	w.Helper()
	if r.Key == nil {
		w.keys++
		r.Key = core.ProviderKey(string(rune(w.keys)))
	}
	r.Provider = "p"
	if r.Event.OccurredAt == 0 {
		r.Event.OccurredAt = w.Now
	}
	w.Must(w.ApplyReports(w.Context(), []core.ProviderReport{r}, w.Now))
}

func (w *providerWorld) event(eventType string, email core.Email) core.ProviderEvent {
	return core.ProviderEvent{Type: eventType, MessageID: "m", TenantID: w.TenantID, Email: email, OccurredAt: w.Now}
}

func TestProviderEventsOnTheAddress(t *testing.T) {
	for _, tc := range []struct {
		event  string
		want   core.Status
		leaves bool
	}{
		{core.ProviderHardBounced, core.StatusBounced, true},
		{core.ProviderSoftBounced, core.StatusActive, false},
		{core.ProviderBounce, core.StatusActive, false},
		{core.ProviderComplaint, core.StatusComplaint, true},
		{core.ProviderSuppression, core.StatusSuppressed, true},
		{core.ProviderDelivery, core.StatusActive, false},
		{core.ProviderOpen, core.StatusActive, false},
		{core.ProviderClick, core.StatusActive, false},
	} {
		t.Run(tc.event, func(t *testing.T) {
			w := newProviderWorld(t)
			before := w.Departures(w.TenantID)
			w.report(core.ProviderReport{Event: w.event(tc.event, "ANN@example.org")})
			for list := range w.lists {
				if got := w.Status(w.lists[list].ID, "ann@example.org"); got != tc.want {
					t.Errorf("list %d: %s, want %s", list, got, tc.want)
				}
			}
			if got := w.Status(w.lists[0].ID, "bob@example.org"); got != core.StatusActive {
				t.Errorf("another address: %s", got)
			}
			if left := w.Departures(w.TenantID) != before; left != tc.leaves {
				t.Errorf("departures moved: %v, want %v", left, tc.leaves)
			}
		})
	}
}

// After a complaint or a suppression, an address gets no emails from lists that it joins later either. After a bounce,
// it can get emails from these lists, because the mailbox may exist again.
func TestProviderEventsOnLaterLists(t *testing.T) {
	for event, want := range map[string]int64{
		core.ProviderComplaint: 1, core.ProviderSuppression: 1,
		core.ProviderHardBounced: 2,
	} {
		w := newProviderWorld(t)
		w.report(core.ProviderReport{Event: w.event(event, "cleo@example.org")})
		w.At(w.Now.Add(-30*24*time.Hour)).Tell(w.lists[1], core.StatusActive, "cleo@example.org")
		w.report(core.ProviderReport{Event: w.event(core.ProviderSuppression, "ann@example.org")})
		if j := w.Finish(w.NewJob(w.lists[1].ID)); j.Recipients != want {
			t.Errorf("%s: %d recipients, want %d", event, j.Recipients, want)
		}
	}
}

func TestFiveSoftBouncesOverThreeDays(t *testing.T) {
	day := func(n float64) core.Instant { return core.At(time.Date(2026, 11, 1, 0, 0, int(n*86400), 0, time.UTC)) }
	soft, delivered := core.ProviderSoftBounced, core.ProviderDelivery
	type told struct {
		event string
		at    float64
	}
	for name, tc := range map[string]struct {
		told []told
		want core.Status
	}{
		"five in a row": {[]told{{soft, 1}, {soft, 2}, {soft, 3}, {soft, 3.5}, {soft, 4}}, core.StatusBounced},
		"four":          {[]told{{soft, 1}, {soft, 2}, {soft, 3}, {soft, 4}}, core.StatusActive},
		"within three days": {
			[]told{{soft, 1}, {soft, 1.5}, {soft, 2}, {soft, 2.5}, {soft, 3.9}},
			core.StatusActive,
		},
		"a delivery between": {
			[]told{{soft, 1}, {soft, 2}, {delivered, 2.5}, {soft, 3}, {soft, 4}, {soft, 5}},
			core.StatusActive,
		},
		"a delivery before them": {
			[]told{{soft, 1}, {delivered, 0.5}, {soft, 2}, {soft, 3}, {soft, 3.5}, {soft, 4}},
			core.StatusBounced,
		},
		"out of order": {
			[]told{{soft, 4}, {soft, 3.5}, {soft, 3}, {soft, 2}, {soft, 1}, {soft, 4.5}},
			core.StatusBounced,
		},
	} {
		w := newProviderWorld(t)
		for _, x := range tc.told {
			e := w.event(x.event, "ann@example.org")
			e.OccurredAt = day(x.at)
			w.report(core.ProviderReport{Event: e})
		}
		if got := w.Status(w.lists[0].ID, "ann@example.org"); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestProviderEventsCountByRecipient(t *testing.T) {
	w := newProviderWorld(t)
	of := func(event string, seq int64, email core.Email) core.ProviderReport {
		return core.ProviderReport{Event: w.event(event, email), JobNo: w.job.No, Seq: seq}
	}
	first := of(core.ProviderOpen, 1, "ann@example.org")
	first.Key = core.ProviderKey("once")
	for range 3 {
		w.report(first) // the same event again
	}
	w.report(of(core.ProviderOpen, 1, "ann@example.org")) // another event for the same recipient
	w.report(of(core.ProviderOpen, 2, "bob@example.org"))
	w.report(of(core.ProviderClick, 2, "bob@example.org"))
	w.report(of(core.ProviderDelivery, 2, "bob@example.org"))
	w.report(of(core.ProviderHardBounced, 3, "cleo@example.org"))
	w.report(of(core.ProviderComplaint, 2, "bob@example.org"))
	byMachine := of(core.ProviderClick, 1, "ann@example.org")
	byMachine.ByMachine = true
	w.report(byMachine)
	got := w.Reload(w.job).Stats
	if got.Opened != 2 || got.Clicked != 2 || got.MachineClicked != 1 || got.MachineOpened != 0 || got.Delivered != 1 ||
		got.Bounced != 1 || got.Complained != 1 {
		t.Errorf("%+v", got)
	}
	rows, err := w.Recipients(t.Context(), &w.job, campaigns.RecipientFilter{}, core.Page{Limit: 10})
	w.Must(err)
	for i, want := range []core.Marks{
		core.MarkOpened | core.MarkClicked | core.MarkMachineClicked | core.MarkReadByPerson,
		core.MarkOpened | core.MarkClicked | core.MarkDelivered | core.MarkComplained | core.MarkReadByPerson,
		core.MarkBounced,
	} {
		if rows[i].Marks != want {
			t.Errorf("%s: %v, want %v", rows[i].Email, rows[i].Marks.Names(), want.Names())
		}
	}
}

// An event belongs to the tenant in the event. If there is none, it belongs to the tenant of the event's email, then to
// the tenant of the latest email to the address, and then to the only tenant that knows the address.
func TestWhoseAProviderEventIs(t *testing.T) {
	w := newProviderWorld(t)
	other := w.NewTenant().ID
	foreign := w.event(core.ProviderHardBounced, "ann@example.org")
	foreign.TenantID = other
	w.report(core.ProviderReport{Event: foreign, JobNo: w.job.No, Seq: 1})
	if s := w.Reload(w.job).Stats; s.Bounced != 0 || w.Status(w.lists[0].ID, "ann@example.org") != core.StatusActive {
		t.Errorf("another tenant's event took effect: %+v", s)
	}
	unnamed := func(event string, email core.Email) core.ProviderEvent {
		e := w.event(event, email)
		e.TenantID = ""
		return e
	}
	w.report(core.ProviderReport{
		Event: unnamed(core.ProviderDelivery, ""), JobNo: w.job.No,
		Seq: w.seq("ann@example.org"),
	})
	w.report(core.ProviderReport{Event: unnamed(core.ProviderDelivery, "bob@example.org"), Guess: true})
	if s := w.Reload(w.job).Stats; s.Delivered != 2 {
		t.Errorf("deliveries by the mail and by a guess: %d", s.Delivered)
	}
	w.report(core.ProviderReport{Event: unnamed(core.ProviderHardBounced, "zoe@example.org"), Guess: true})
	if got := w.Status(w.lists[1].ID, "zoe@example.org"); got != core.StatusBounced {
		t.Errorf("an address of one tenant that was sent nothing: %s", got)
	}
	w.report(core.ProviderReport{Event: unnamed(core.ProviderHardBounced, "cleo@example.org")})
	if got := w.Status(w.lists[0].ID, "cleo@example.org"); got != core.StatusActive {
		t.Errorf("nobody's event: %s", got)
	}
}

// If a provider assigns its own message ids, its events are matched by the id in its reply, within the tenant and for a
// limited time.
func TestMailsByTheirProvidersNames(t *testing.T) {
	w := newProviderWorld(t)
	seq := w.seq("bob@example.org")
	// A second outcome doesn't change the recipient, but its id is stored.
	w.Must(w.FinishRecipients(t.Context(), []core.Outcome{{
		JobNo: w.job.No, Seq: seq, State: core.RecipientSent,
		QueueID: "0100018f-named-by-ses",
	}}, w.Now))
	named := func(tenantID string) {
		e := w.event(core.ProviderDelivery, "")
		e.TenantID, e.MessageID = tenantID, "0100018f-named-by-ses"
		w.report(core.ProviderReport{Event: e})
	}
	named(w.NewTenant().ID)
	if s := w.Reload(w.job).Stats; s.Delivered != 0 {
		t.Errorf("another tenant's event took effect: %+v", s)
	}
	named(w.TenantID)
	rows, err := w.Recipients(t.Context(), &w.job, campaigns.RecipientFilter{}, core.Page{Limit: 10})
	w.Must(err)
	if s := w.Reload(w.job).Stats; s.Delivered != 1 || rows[seq-1].Marks != core.MarkDelivered {
		t.Errorf("%+v, %v", s, rows)
	}
	w.Now = w.Now.Add(61 * 24 * time.Hour)
	w.Clean(people.Retention{Recipients: 1000 * 24 * time.Hour})
	named("")
	if s := w.Reload(w.job).Stats; s.Delivered != 1 {
		t.Errorf("%+v", s)
	}
}

// Only complaints of people whom the tenant knows are passed to the member service.
func TestComplaintsAskToDisable(t *testing.T) {
	w := newProviderWorld(t)
	w.report(core.ProviderReport{Event: w.event(core.ProviderComplaint, "stranger@example.org")})
	w.report(core.ProviderReport{Event: w.event(core.ProviderSuppression, "bob@example.org")})
	complaint := core.ProviderReport{
		Event: w.event(core.ProviderComplaint, "Ann@example.org"),
		Key:   core.ProviderKey("c"),
	}
	w.report(complaint)
	w.report(complaint)
	due, err := w.DuePendingDisables(t.Context(), w.Now, 10)
	w.Must(err)
	if len(due) != 1 || due[0].Email != "Ann@example.org" || due[0].TenantID != w.TenantID || due[0].OccurredAt != w.Now {
		t.Fatalf("%+v", due)
	}
	w.Must(w.PostponePendingDisable(t.Context(), due[0].ID, "down", w.Now.Add(time.Second)))
	if at, err := w.NextPendingDisable(t.Context()); err != nil || at != w.Now.Add(time.Second) {
		t.Errorf("next %v, %v", at, err)
	}
	w.Must(w.FinishPendingDisable(t.Context(), due[0].ID))
	if at, err := w.NextPendingDisable(t.Context()); err != nil || at != 0 {
		t.Errorf("next %v, %v", at, err)
	}
}

func TestProviderRecords(t *testing.T) {
	w := newProviderWorld(t)
	ctx := t.Context()
	for _, name := range []string{"", "Upper", "subscriptions", "lists", "a/b", "-a", "a b"} {
		if err := w.AddProvider(ctx, core.Provider{Name: name, Kind: "generic"}, "s", "test",
			w.Now); core.KindOf(err) != core.Invalid {
			t.Errorf("name %q: %v", name, err)
		}
	}
	w.Must(w.AddProvider(ctx, core.Provider{Name: "one", Kind: "generic", TenantID: w.TenantID}, "first", "test",
		w.Now))
	if err := w.AddProvider(ctx, core.Provider{Name: "one", Kind: "generic"}, "s", "test",
		w.Now); core.KindOf(err) != core.Conflict {
		t.Errorf("a name that is taken: %v", err)
	}
	if _, err := w.ProviderSecrets(ctx, "one"); err != nil { // fills the cache
		t.Fatal(err)
	}
	_, err := w.UpdateProvider(ctx, "one",
		tenants.ProviderChange{NewSecret: new("second"), Disabled: new(true), TenantID: new("")}, "test", w.Now)
	w.Must(err)
	p, err := w.ProviderSecrets(ctx, "one")
	w.Must(err)
	if len(p.Secrets) != 2 || p.Secrets[0] != "second" || p.Secrets[1] != "first" || p.DisabledAt != w.Now ||
		p.TenantID != "" {
		t.Errorf("%+v", p)
	}
	_, err = w.UpdateProvider(ctx, "one", tenants.ProviderChange{NewSecret: new("third")}, "test", w.Now)
	if p, read := w.ProviderSecrets(ctx, "one"); core.KindOf(err) != core.Conflict || read != nil || len(p.Secrets) != 2 ||
		p.Secrets[0] != "second" {
		t.Errorf("another secret: %v; %+v, %v", err, p, read)
	}
	_, err = w.UpdateProvider(
		ctx,
		"one",
		tenants.ProviderChange{EndOldSecret: true, Disabled: new(false)},
		"test",
		w.Now,
	)
	w.Must(err)
	if p, err = w.ProviderSecrets(ctx, "one"); err != nil || len(p.Secrets) != 1 || p.DisabledAt != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	w.Must(w.DeleteProvider(ctx, "one", "test", w.Now))
	if _, err := w.ProviderSecrets(ctx, "one"); core.KindOf(err) != core.NotFound {
		t.Errorf("deleted: %v", err)
	}
	for range 2 {
		w.Must(w.EnsureDefaultProvider(ctx, "generic", "drawn", w.Now))
	}
	if err := w.DeleteProvider(ctx, core.DefaultProvider, "test", w.Now); core.KindOf(err) != core.Conflict {
		t.Errorf("the default one was deleted: %v", err)
	}
}
