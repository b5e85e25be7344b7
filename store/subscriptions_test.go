package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
)

const (
	now0 core.Instant = 1_790_000_000_000
	day               = 24 * time.Hour
)

func TestSubscribeAndConfirm(t *testing.T) {
	n := storetest.SeedList(t, now0)
	row := n.Request(n.ListID, "Ann@Example.org", `{"a":1}`)
	if n.Count("SELECT count(*) FROM mail WHERE kind = 'confirm' AND state = 0 AND token_id = ? AND email = "+
		"'Ann@Example.org'", row) != 1 {
		t.Error("no confirmation mail was queued")
	}
	sub, err := n.Confirm(t.Context(), n.Token(row, core.ProofMailed), core.Origin{Remote: "192.0.2.1"}, now0+5)
	if err != nil || sub.Status != core.SubscriptionActive || sub.Preferences != `{"a":1}` || sub.CreatedAt != now0 {
		t.Fatalf("confirmed %+v, %v", sub, err)
	}
	again, err := n.Confirm(t.Context(), n.Token(row, core.ProofMailed), core.Origin{}, now0+9)
	if err != nil || again.Status != sub.Status || again.CreatedAt != sub.CreatedAt {
		t.Errorf("confirmed again %+v, %v", again, err)
	}
	if got := n.Events(); len(got) != 1 || got[0] != core.EventActivated {
		t.Errorf("events %v", got)
	}
	ledger, err := n.Consents(t.Context(), n.ListID, sub.ID)
	if err != nil || len(ledger) != 2 || ledger[0].What != core.ConsentRequested ||
		ledger[1].Proof != core.ProofMailed || ledger[1].Remote != "192.0.2.1" {
		t.Errorf("ledger %+v, %v", ledger, err)
	}
	events, err := n.DueEvents(t.Context(), "", now0.Add(day), 9)
	n.Must(err)
	if want := `"subscriber":{"id":"` + sub.ID +
		`","email":"Ann@Example.org","status":"active","preferences":{"a":1}},"occurred_at":"` +
		(now0 + 5).String(); !strings.Contains(events[0].Body, want) {
		t.Errorf("event %s, want in it %s", events[0].Body, want)
	}
}

// Subscribe returns the same answer for every address, and the token has the effect that the state of the address
// allows.
func TestSubscribeTellsNothing(t *testing.T) {
	for _, c := range []struct {
		name    string
		before  func(*storetest.Seeder)
		mails   int // number of emails queued by this request
		kind    string
		confirm error
		after   string
	}{
		{"a stranger", func(*storetest.Seeder) {}, 1, core.MailConfirm, nil, "active"},
		{
			"pending", func(n *storetest.Seeder) { n.Request(n.ListID, "a@example.org", "") }, 1, core.MailConfirm, nil,
			"active",
		},
		{
			"active", func(n *storetest.Seeder) { n.Active(n.ListID, "a@example.org") }, 1, core.MailAlreadySubscribed,
			nil,
			"active",
		},
		{"active, told today", func(n *storetest.Seeder) {
			n.Active(n.ListID, "a@example.org")
			n.At(now0+1).Request(n.ListID, "a@example.org", "")
		}, 0, core.MailAlreadySubscribed, nil, "active"},
		{"unsubscribed", func(n *storetest.Seeder) {
			n.Active(n.ListID, "a@example.org")
			n.At(now0+1).Leave(n.ListID, "a@example.org")
		}, 1, core.MailConfirm, nil, "active"},
		{"disabled", func(n *storetest.Seeder) {
			_, _ = n.Disable(n.Context(), members.DisableRequest{Email: "A@example.org"}, now0)
		}, 0, core.MailConfirm, core.ErrInvalidToken, "absent"},
		{"disabled by its tenant", func(n *storetest.Seeder) {
			_, _ = n.Disable(n.Context(), members.DisableRequest{Email: "a@example.org", TenantID: n.TenantID}, now0)
		}, 0, core.MailConfirm, core.ErrInvalidToken, "absent"},
		{"disabled by another tenant", func(n *storetest.Seeder) {
			_, _ = n.Disable(n.Context(), members.DisableRequest{Email: "a@example.org", TenantID: core.NewID()}, now0)
		}, 1, core.MailConfirm, nil, "active"},
		{"confirmation mails used up", func(n *storetest.Seeder) {
			for i := range core.Instant(3) {
				n.At(now0+i).Request(n.ListID, "a@example.org", "")
			}
		}, 0, core.MailConfirm, nil, "active"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := storetest.SeedList(t, now0)
			c.before(n)
			before := n.Count("SELECT count(*) FROM mail WHERE state = 0")
			row := n.At(now0+1000).Request(n.ListID, "a@example.org", `{"b":2}`)
			if got := n.Count("SELECT count(*) FROM mail WHERE state = 0") - before; got != c.mails {
				t.Errorf("%d mails queued, want %d", got, c.mails)
			}
			if n.Count("SELECT count(*) FROM mail WHERE token_id = ? AND kind = ?", row, c.kind) != 1 {
				t.Errorf("the row of the mail is not of the kind %s", c.kind)
			}
			sub, err := n.Confirm(t.Context(), n.Token(row, core.ProofResponse), core.Origin{}, now0+2000)
			if !errors.Is(err,
				c.confirm) || err == nil && (sub.Preferences != `{"b":2}` || sub.CreatedAt != now0+1000) {
				t.Errorf("confirm: %+v, %v", sub, err)
			}
			if got := n.MemberStatus(n.ListID, "a@example.org"); got != c.after {
				t.Errorf("status %s, want %s", got, c.after)
			}
		})
	}
}

func TestMailLimitOverLists(t *testing.T) {
	n := storetest.SeedList(t, now0)
	for i := range core.Instant(12) {
		n.ListID = n.NewList().ID
		n.At(now0+i).Request(n.ListID, "a@example.org", "")
	}
	if got := n.Count("SELECT count(*) FROM mail WHERE state = 0"); got != 10 {
		t.Errorf("%d confirmation mails to one address, want 10", got)
	}
	n.At(now0.Add(24*time.Hour)+100).Request(n.ListID, "a@example.org", "")
	if got := n.Count("SELECT count(*) FROM mail WHERE state = 0"); got != 11 {
		t.Errorf("a day later %d, want 11", got)
	}
}

func TestConfirmRefusals(t *testing.T) {
	n := storetest.SeedList(t, now0)
	live := func(row string) string { return n.Token(row, core.ProofResponse) }
	late := n.Request(n.ListID, "late@example.org", "")
	old := n.Request(n.ListID, "old@example.org", "")
	n.Active(n.ListID, "old@example.org")
	left := n.Request(n.ListID, "left@example.org", "")
	n.Active(n.ListID, "left@example.org")
	for _, e := range []core.Email{"old@example.org", "left@example.org"} {
		n.At(now0+1).Leave(n.ListID, e)
	}
	n.At(now0+2).Request(n.ListID, "old@example.org", "")
	gone := n.Request(n.ListID, "gone@example.org", "")
	n.SQL("DELETE FROM subscription WHERE email_key = 'gone@example.org'")
	for _, c := range []struct {
		name, token string
		at          core.Instant
		want        error
	}{
		{"malformed", "x", now0, core.ErrInvalidToken},
		{"never made", live(core.NewID()), now0, core.ErrInvalidToken},
		{"of a receipt", n.Token(late, "receipt"), now0, core.ErrInvalidToken},
		{"after seven days", live(late), now0.Add(members.ConfirmTTL), core.ErrTokenExpired},
		{"just before", live(late), now0.Add(members.ConfirmTTL) - 1, nil},
		{"of an older generation", live(old), now0 + 3, core.ErrInvalidToken},
		{"after an unsubscribe", live(left), now0 + 3, core.ErrInvalidToken},
		{"its subscription gone", live(gone), now0 + 3, core.ErrSubscriptionNotFound},
	} {
		if _, err := n.Confirm(t.Context(), c.token, core.Origin{}, c.at); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestParallelConfirmsMakeOneEvent(t *testing.T) {
	n := storetest.SeedList(t, now0)
	token := n.Token(n.Request(n.ListID, "a@example.org", ""), core.ProofMailed)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			sub, err := n.Confirm(t.Context(), token, core.Origin{}, now0+1)
			if err != nil || sub.Status != core.SubscriptionActive {
				t.Errorf("confirm: %+v, %v", sub, err)
			}
		})
	}
	wg.Wait()
	if got := n.Events(); len(got) != 1 {
		t.Errorf("events %v, want one", got)
	}
}

func TestUnsubscribe(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Active(n.ListID, "a@example.org")
	n.Request(n.ListID, "p@example.org", "")
	left := n.Departures(n.TenantID)
	for range 2 {
		if sub := n.Leave(n.ListID, "a@example.org"); sub.Status != core.SubscriptionUnsubscribed {
			t.Fatalf("%+v", sub)
		}
	}
	if n.Departures(n.TenantID) == left {
		t.Error("the send path was not told")
	}
	if sub := n.Leave(n.ListID, "p@example.org"); sub.Status != core.SubscriptionUnsubscribed {
		t.Errorf("a pending one: %+v", sub)
	}
	if got := n.Events(); len(got) != 2 || got[1] != core.EventUnsubscribed {
		t.Errorf("events %v", got)
	}
	if n.Count("SELECT count(*) FROM (SELECT DISTINCT occurred_at FROM outbox)") != 2 {
		t.Error("two events of one subscription have the same instant")
	}
	stranger := n.Leaving(n.ListID, "stranger@example.org")
	if _, err := n.Unsubscribe(t.Context(), stranger, now0); !errors.Is(err, core.ErrSubscriptionNotFound) {
		t.Errorf("a stranger: %v", err)
	}
}

func TestSetPreferences(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Active(n.ListID, "a@example.org")
	for range 2 {
		if sub, err := n.Store.SetPreferences(t.Context(), n.ListID, "a@example.org", `{"c":3}`,
			now0+1); err != nil || sub.Preferences != `{"c":3}` {
			t.Fatalf("%+v, %v", sub, err)
		}
	}
	if got := n.Events(); len(got) != 2 || got[1] != core.EventPreferences {
		t.Errorf("events %v; the same preferences again are no change", got)
	}
	if _, err := n.Store.SetPreferences(t.Context(), n.ListID, "b@example.org", "{}", now0); !errors.Is(err,
		core.ErrSubscriptionNotFound) {
		t.Errorf("a stranger: %v", err)
	}
	if _, err := n.Store.SetPreferences(t.Context(), core.NewID(), "a@example.org", "{}", now0); !errors.Is(err,
		core.ErrListNotFound) {
		t.Errorf("an unknown list: %v", err)
	}
}

func TestDisable(t *testing.T) {
	n := storetest.SeedList(t, now0)
	other := n.NewList(func(in *core.ListInput) { in.TenantID = new(n.NewTenant().ID) })
	lists := []string{n.ListID, other.ID}
	for _, list := range lists {
		n.Active(list, "a@example.org")
		n.Active(list, "z@example.org")
	}
	d := members.DisableRequest{
		Email: "A@example.org", Reason: "asked", DisabledBy: "desk", OccurredAt: now0,
		Actor: "client:c1", Counted: []string{n.TenantID},
	}
	for i, want := range []int{1, 0} {
		if got, err := n.Disable(t.Context(), d, now0+5); err != nil || got != want {
			t.Errorf("call %d: %d, %v; want %d", i, got, err, want)
		}
	}
	for _, list := range lists {
		a, z := n.MemberStatus(list, "a@example.org"), n.MemberStatus(list, "z@example.org")
		if a != "unsubscribed" || z != "active" {
			t.Errorf("a %s, z %s", a, z)
		}
	}
	if got := n.Events(); len(got) != 6 {
		t.Errorf("events %v", got)
	}
	if trail, _, err := n.Audit(t.Context(), core.AuditFilter{}, core.Page{Limit: 100}); err != nil ||
		!slices.ContainsFunc(trail, func(a core.AuditEntry) bool {
			return a.Action == "address.disable" && a.Actor == "client:c1" && a.Object == core.Email("A@example.org").Mask()
		}) {
		t.Errorf("the audit trail has %v, %v", trail, err)
	}
	for tenant, actor := range map[string]string{n.TenantID: "client:c1", other.TenantID: core.AnotherTenant} {
		own, _, err := n.Audit(t.Context(), core.AuditFilter{TenantID: tenant, Action: "address.disable"},
			core.Page{Limit: 100})
		if err != nil || len(own) != 1 || own[0].Actor != actor ||
			own[0].Changes != `{"subscriptions":{"before":1,"after":0}}` {
			t.Errorf("the trail of a tenant whose subscription ended has %+v, %v; want one by %s", own, err, actor)
		}
	}
	if lifted, err := n.Lift(t.Context(), "a@example.org", "", "test", now0+6); err != nil || len(lifted) != 1 {
		t.Error(lifted, err)
	}
	n.At(now0+9).Request(n.ListID, "a@example.org", "")
	if got := n.MemberStatus(n.ListID, "a@example.org"); got != "pending" {
		t.Errorf("after lifting it: %s", got)
	}
}

func TestDisableForOneTenant(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Active(n.ListID, "a@example.org")
	if _, err := n.Disable(t.Context(), members.DisableRequest{Email: "a@example.org", TenantID: core.NewID()},
		now0); err != nil {
		t.Fatal(err)
	}
	if got := n.MemberStatus(n.ListID, "a@example.org"); got != "active" {
		t.Errorf("another tenant's word made it %s", got)
	}
}

func TestListRecordFollowsChanges(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Request(n.ListID, "a@example.org", "")
	ask := func() error {
		_, _, err := n.Subscribe(t.Context(), members.SubscribeRequest{ListID: n.ListID, Email: "b@example.org"}, now0)
		return err
	}
	for _, c := range []struct {
		sql  string
		want error
	}{
		{"UPDATE list SET status = 'inactive'", core.ErrListInactive},
		{"UPDATE list SET status = 'active'", nil},
		{"UPDATE tenant SET status = 'suspended'", core.ErrListInactive},
		{"UPDATE tenant SET deleted_at = 1", core.ErrListNotFound},
		{"UPDATE tenant SET deleted_at = 0, status = 'active'", nil},
		{"UPDATE list SET deleted_at = 1", core.ErrListNotFound},
	} {
		n.SQL(c.sql)
		if err := ask(); !errors.Is(err, c.want) {
			t.Errorf("after %s: %v, want %v", c.sql, err, c.want)
		}
	}
}

func TestSubscriptionsInPages(t *testing.T) {
	n := storetest.SeedList(t, now0)
	for i := range 25 {
		n.Request(n.ListID, core.Email(fmt.Sprintf("s%d@example.org", i)), "")
	}
	seen, after := 0, ""
	for {
		page, err := n.Subscriptions(t.Context(), n.ListID, after, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, s := range page {
			if s.ID <= after {
				t.Errorf("%s came after %s", s.ID, after)
			}
			after = s.ID
			seen++
		}
	}
	if seen != 25 {
		t.Errorf("%d subscriptions, want 25", seen)
	}
}

// An event that is refused permanently becomes a dead letter, unless its list was deleted, because the event could then
// never be delivered.
func TestRefusedEventsOfADeletedList(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Active(n.ListID, "a@example.org")
	gone := n.NewList().ID
	n.Active(gone, "b@example.org")
	due, err := n.DueEvents(t.Context(), "", now0.Add(day), 10)
	if err != nil || len(due) != 2 {
		t.Fatal(due, err)
	}
	if err := n.DeleteList(t.Context(), gone, "test", now0); err != nil {
		t.Fatal(err)
	}
	var refused []tenants.EventResult
	for i := range due {
		refused = append(refused, tenants.EventResult{Event: &due[i], Dead: true, Reason: "HTTP 422"})
	}
	if err := n.FinishEvents(t.Context(), refused, now0+1); err != nil {
		t.Fatal(err)
	}
	left, err := n.OutboxEvents(t.Context(), tenants.OutboxFilter{}, 0, 10)
	if err != nil || len(left) != 1 || left[0].ListID != n.ListID || left[0].DeadAt == 0 {
		t.Errorf("left in the outbox: %+v, %v", left, err)
	}
}

func TestOutboxKeepsOrder(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Active(n.ListID, "a@example.org")
	n.Leave(n.ListID, "a@example.org")
	n.Active(n.ListID, "b@example.org")
	due := func(at core.Instant) (out []core.OutboxEvent) {
		out, err := n.DueEvents(t.Context(), "", at, 100)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	first := due(now0 + 100)
	if len(first) != 3 {
		t.Fatalf("%d due", len(first))
	}
	later := now0 + 5000
	if err := n.FinishEvents(t.Context(), []tenants.EventResult{
		{Event: &first[0], RetryAt: later, Reason: "500"},
		{Event: &first[2], Done: true},
	}, now0+100); err != nil {
		t.Fatal(err)
	}
	n.At(now0+200).Active(n.ListID, "a@example.org") // a third event for a, which must stay the last
	if got := due(now0 + 4000); len(got) != 0 {
		t.Errorf("due while the first one waits: %+v", got)
	}
	if at, err := n.NextEvent(t.Context(), "", now0+4000); at != later || err != nil {
		t.Errorf("next %v, %v; want %v", at, err, later)
	}
	waiting, err := n.OutboxEvents(t.Context(), tenants.OutboxFilter{State: core.EventWaiting}, 0, 100)
	if err != nil || len(waiting) != 3 {
		t.Fatalf("%+v, %v", waiting, err)
	}
	n.Must(n.RetryEvent(t.Context(), waiting[2].ID, "test", now0+4000))
	got := due(now0 + 4000)
	if len(got) != 3 || got[0].EventID != first[0].EventID || got[1].EventID != first[1].EventID || got[0].Tries != 1 {
		t.Fatalf("sent again: %+v", got)
	}
	if err := n.FinishEvents(t.Context(), []tenants.EventResult{{Event: &got[0], Dead: true, Reason: "422"}},
		now0+4100); err != nil {
		t.Fatal(err)
	}
	if got := due(now0 + 4100); len(got) != 2 {
		t.Errorf("a dead letter holds back the others: %+v", got)
	}
	if st, err := n.OutboxState(t.Context()); err != nil || st.Dead != 1 || st.Waiting != 2 {
		t.Errorf("%+v, %v", st, err)
	}
	if err := n.RetryEvent(t.Context(), got[0].ID, "test", now0+4200); err != nil || len(due(now0+4200)) != 3 {
		t.Errorf("the dead letter does not live again: %v", err)
	}
}

func TestPendingExpiry(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Request(n.ListID, "new@example.org", "")
	n.Active(n.ListID, "back@example.org")
	n.Leave(n.ListID, "back@example.org")
	n.Request(n.ListID, "back@example.org", "")
	if _, err := n.Housekeeping(t.Context(), people.Retention{Pending: 30 * 24 * time.Hour},
		now0.Add(31*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := n.MemberStatus(n.ListID, "new@example.org"); got != "absent" {
		t.Errorf("one that never confirmed: %s", got)
	}
	if got := n.MemberStatus(n.ListID, "back@example.org"); got != core.SubscriptionUnsubscribed {
		t.Errorf("one that had left before: %s", got)
	}
	if got := n.Count("SELECT count(*) FROM confirm_token"); got != 0 {
		t.Errorf("%d confirm tokens are left", got)
	}
}
