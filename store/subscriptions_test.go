package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/core"
)

const now0 core.Instant = 1_790_000_000_000

// newsletter is a database with one tenant and one list.
type newsletter struct {
	*testing.T
	*Store
	list, tenant string
}

func testNewsletter(t *testing.T) newsletter {
	n := newsletter{T: t, Store: testOpen(t, filepath.Join(t.TempDir(), "n.db"), Daemon), tenant: core.NewID()}
	n.sql("INSERT INTO tenant (id, name, domains, created_at, updated_at) VALUES (?, 'T', '[\"example.org\"]', 1, 1)",
		n.tenant)
	n.list = n.addList(n.tenant)
	return n
}

func (n newsletter) addList(tenant string) string {
	n.Helper()
	id := core.NewID()
	n.sql("INSERT INTO list (id, tenant_id, name, created_at, updated_at) VALUES (?, ?, 'L', 1, 1)", id, tenant)
	return id
}

func (n newsletter) sql(query string, args ...any) {
	n.Helper()
	err := n.update(n.Context(), func(tx *Tx) error {
		tx.kick(TopicRecords)
		_, err := tx.exec(query, args...)
		return err
	})
	if err != nil {
		n.Fatal(err)
	}
}

func (n newsletter) count(query string, args ...any) (c int) {
	n.Helper()
	if err := n.get(n.Context(), &c, query, args...); err != nil {
		n.Fatal(err)
	}
	return c
}

func (n newsletter) subscribe(email core.Email, p core.Preferences, at core.Instant) (rowID string) {
	n.Helper()
	sub, rowID, err := n.Subscribe(n.Context(), SubscribeRequest{ListID: n.list, Email: email, Preferences: p}, at)
	if err != nil {
		n.Fatal(err)
	}
	want := core.Subscription{
		ID: n.SubscriptionID(n.list, email.Key()), ListID: n.list, Email: email,
		Status: core.SubscriptionPending, Preferences: p.OrEmpty(), CreatedAt: at,
	}
	if sub != want {
		n.Errorf("subscribe answered %+v, want %+v", sub, want)
	}
	return rowID
}

func (n newsletter) token(rowID, means string) string {
	n.Helper()
	token, err := n.ConfirmToken(n.Context(), rowID, means)
	if err != nil {
		n.Fatal(err)
	}
	return token
}

func (n newsletter) activate(email core.Email, at core.Instant) {
	n.Helper()
	if _, err := n.Confirm(n.Context(), n.token(n.subscribe(email, "", at), core.ProofMailed), core.Origin{},
		at); err != nil {
		n.Fatal(err)
	}
}

func (n newsletter) status(email core.Email) string {
	n.Helper()
	sub, err := n.Subscription(n.Context(), n.list, email)
	if err != nil {
		return err.Error()
	}
	return sub.Status
}

func (n newsletter) leave(email core.Email, at core.Instant) (core.Subscription, error) {
	return n.Unsubscribe(n.Context(), UnsubscribeRequest{
		ListID:         n.list,
		SubscriptionID: n.SubscriptionID(n.list, email.Key()), Proof: core.ProofMailed,
	}, at)
}

func (n newsletter) events() []string {
	n.Helper()
	var rows []core.OutboxEvent
	if err := n.all(n.Context(), &rows, "SELECT "+outboxColumns+" FROM outbox ORDER BY id"); err != nil {
		n.Fatal(err)
	}
	var words []string
	for _, e := range rows {
		words = append(words, e.EventType)
	}
	return words
}

func TestSubscribeAndConfirm(t *testing.T) {
	n := testNewsletter(t)
	row := n.subscribe("Ann@Example.org", `{"a":1}`, now0)
	if n.count("SELECT count(*) FROM mail WHERE kind = 'confirm' AND state = 0 AND token_id = ? AND email = "+
		"'Ann@Example.org'", row) != 1 {
		t.Error("no confirmation mail was queued")
	}
	sub, err := n.Confirm(t.Context(), n.token(row, core.ProofMailed), core.Origin{Remote: "192.0.2.1"}, now0+5)
	if err != nil || sub.Status != core.SubscriptionActive || sub.Preferences != `{"a":1}` || sub.CreatedAt != now0 {
		t.Fatalf("confirmed %+v, %v", sub, err)
	}
	again, err := n.Confirm(t.Context(), n.token(row, core.ProofMailed), core.Origin{}, now0+9)
	if err != nil || again.Status != sub.Status || again.CreatedAt != sub.CreatedAt {
		t.Errorf("confirmed again %+v, %v", again, err)
	}
	if got := n.events(); len(got) != 1 || got[0] != core.EventActivated {
		t.Errorf("events %v", got)
	}
	ledger, err := n.Consents(t.Context(), n.list, sub.ID)
	if err != nil || len(ledger) != 2 || ledger[0].What != core.ConsentRequested ||
		ledger[1].Proof != core.ProofMailed || ledger[1].Remote != "192.0.2.1" {
		t.Errorf("ledger %+v, %v", ledger, err)
	}
	var body string
	if err := n.get(t.Context(), &body, "SELECT body FROM outbox"); err != nil {
		t.Fatal(err)
	}
	if want := `"subscriber":{"id":"` + sub.ID +
		`","email":"Ann@Example.org","status":"active","preferences":{"a":1}},"occurred_at":"` +
		(now0 + 5).String(); !strings.Contains(body, want) {
		t.Errorf("event %s, want in it %s", body, want)
	}
}

// Whatever is known of an address, subscribe answers the same, and the token does what the contract says of its state.
func TestSubscribeTellsNothing(t *testing.T) {
	for _, c := range []struct {
		name    string
		before  func(newsletter)
		mails   int // queued by this request
		kind    string
		confirm error
		after   string
	}{
		{"a stranger", func(newsletter) {}, 1, core.MailConfirm, nil, "active"},
		{"pending", func(n newsletter) { n.subscribe("a@example.org", "", now0) }, 1, core.MailConfirm, nil, "active"},
		{
			"active", func(n newsletter) { n.activate("a@example.org", now0) }, 1, core.MailAlreadySubscribed, nil,
			"active",
		},
		{"active, told today", func(n newsletter) {
			n.activate("a@example.org", now0)
			n.subscribe("a@example.org", "", now0+1)
		}, 0, core.MailAlreadySubscribed, nil, "active"},
		{"unsubscribed", func(n newsletter) {
			n.activate("a@example.org", now0)
			_, _ = n.leave("a@example.org", now0+1)
		}, 1, core.MailConfirm, nil, "active"},
		{"disabled", func(n newsletter) {
			_, _ = n.Disable(n.Context(), DisableRequest{Email: "A@example.org"}, now0)
		}, 0, core.MailConfirm, core.ErrInvalidToken, "subscription_not_found: There is no such subscription."},
		{"disabled by its tenant", func(n newsletter) {
			_, _ = n.Disable(n.Context(), DisableRequest{Email: "a@example.org", TenantID: n.tenant}, now0)
		}, 0, core.MailConfirm, core.ErrInvalidToken, "subscription_not_found: There is no such subscription."},
		{"disabled by another tenant", func(n newsletter) {
			_, _ = n.Disable(n.Context(), DisableRequest{Email: "a@example.org", TenantID: core.NewID()}, now0)
		}, 1, core.MailConfirm, nil, "active"},
		{"confirmation mails used up", func(n newsletter) {
			for i := range core.Instant(3) {
				n.subscribe("a@example.org", "", now0+i)
			}
		}, 0, core.MailConfirm, nil, "active"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := testNewsletter(t)
			c.before(n)
			before := n.count("SELECT count(*) FROM mail WHERE state = 0")
			row := n.subscribe("a@example.org", `{"b":2}`, now0+1000)
			if got := n.count("SELECT count(*) FROM mail WHERE state = 0") - before; got != c.mails {
				t.Errorf("%d mails queued, want %d", got, c.mails)
			}
			if n.count("SELECT count(*) FROM mail WHERE token_id = ? AND kind = ?", row, c.kind) != 1 {
				t.Errorf("the row of the mail is not of the kind %s", c.kind)
			}
			sub, err := n.Confirm(t.Context(), n.token(row, core.ProofResponse), core.Origin{}, now0+2000)
			if !errors.Is(err,
				c.confirm) || err == nil && (sub.Preferences != `{"b":2}` || sub.CreatedAt != now0+1000) {
				t.Errorf("confirm: %+v, %v", sub, err)
			}
			if got := n.status("a@example.org"); got != c.after {
				t.Errorf("status %s, want %s", got, c.after)
			}
		})
	}
}

func TestMailLimitOverLists(t *testing.T) {
	n := testNewsletter(t)
	for i := range core.Instant(12) {
		n.list = n.addList(n.tenant)
		n.subscribe("a@example.org", "", now0+i)
	}
	if got := n.count("SELECT count(*) FROM mail WHERE state = 0"); got != 10 {
		t.Errorf("%d confirmation mails to one address, want 10", got)
	}
	n.subscribe("a@example.org", "", now0.Add(24*time.Hour)+100)
	if got := n.count("SELECT count(*) FROM mail WHERE state = 0"); got != 11 {
		t.Errorf("a day later %d, want 11", got)
	}
}

func TestConfirmRefusals(t *testing.T) {
	n := testNewsletter(t)
	live := func(row string) string { return n.token(row, core.ProofResponse) }
	late := n.subscribe("late@example.org", "", now0)
	old := n.subscribe("old@example.org", "", now0)
	n.activate("old@example.org", now0)
	left := n.subscribe("left@example.org", "", now0)
	n.activate("left@example.org", now0)
	for _, e := range []core.Email{"old@example.org", "left@example.org"} {
		if _, err := n.leave(e, now0+1); err != nil {
			t.Fatal(err)
		}
	}
	n.subscribe("old@example.org", "", now0+2)
	gone := n.subscribe("gone@example.org", "", now0)
	n.sql("DELETE FROM subscription WHERE email_key = 'gone@example.org'")
	for _, c := range []struct {
		name, token string
		at          core.Instant
		want        error
	}{
		{"malformed", "x", now0, core.ErrInvalidToken},
		{"never made", live(core.NewID()), now0, core.ErrInvalidToken},
		{"of a receipt", n.token(late, "receipt"), now0, core.ErrInvalidToken},
		{"after seven days", live(late), now0.Add(ConfirmTTL), core.ErrTokenExpired},
		{"just before", live(late), now0.Add(ConfirmTTL) - 1, nil},
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
	n := testNewsletter(t)
	token := n.token(n.subscribe("a@example.org", "", now0), core.ProofMailed)
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
	if got := n.events(); len(got) != 1 {
		t.Errorf("events %v, want one", got)
	}
}

func TestUnsubscribe(t *testing.T) {
	n := testNewsletter(t)
	n.activate("a@example.org", now0)
	n.subscribe("p@example.org", "", now0)
	left := n.Departures()
	for range 2 {
		if sub, err := n.leave("a@example.org", now0); err != nil || sub.Status != core.SubscriptionUnsubscribed {
			t.Fatalf("%+v, %v", sub, err)
		}
	}
	if n.Departures() == left {
		t.Error("the send path was not told")
	}
	if _, err := n.leave("p@example.org", now0); err != nil || n.status("p@example.org") != "unsubscribed" {
		t.Errorf("a pending one: %v, %s", err, n.status("p@example.org"))
	}
	if got := n.events(); len(got) != 2 || got[1] != core.EventUnsubscribed {
		t.Errorf("events %v", got)
	}
	if n.count("SELECT count(*) FROM (SELECT DISTINCT occurred_at FROM outbox)") != 2 {
		t.Error("two events of one subscription have the same instant")
	}
	if _, err := n.leave("stranger@example.org", now0); !errors.Is(err, core.ErrSubscriptionNotFound) {
		t.Errorf("a stranger: %v", err)
	}
}

func TestSetPreferences(t *testing.T) {
	n := testNewsletter(t)
	n.activate("a@example.org", now0)
	for range 2 {
		if sub, err := n.Store.SetPreferences(t.Context(), n.list, "a@example.org", `{"c":3}`,
			now0+1); err != nil || sub.Preferences != `{"c":3}` {
			t.Fatalf("%+v, %v", sub, err)
		}
	}
	if got := n.events(); len(got) != 2 || got[1] != core.EventPreferences {
		t.Errorf("events %v; the same preferences again are no change", got)
	}
	if _, err := n.Store.SetPreferences(t.Context(), n.list, "b@example.org", "{}", now0); !errors.Is(err,
		core.ErrSubscriptionNotFound) {
		t.Errorf("a stranger: %v", err)
	}
	if _, err := n.Store.SetPreferences(t.Context(), core.NewID(), "a@example.org", "{}", now0); !errors.Is(err,
		core.ErrListNotFound) {
		t.Errorf("an unknown list: %v", err)
	}
}

func TestDisable(t *testing.T) {
	n := testNewsletter(t)
	other := n
	other.tenant = core.NewID()
	n.sql("INSERT INTO tenant (id, name, created_at, updated_at) VALUES (?, 'O', 1, 1)", other.tenant)
	other.list = n.addList(other.tenant)
	for _, l := range []newsletter{n, other} {
		l.activate("a@example.org", now0)
		l.activate("z@example.org", now0)
	}
	d := DisableRequest{
		Email: "A@example.org", Reason: "asked", DisabledBy: "desk", OccurredAt: now0,
		Actor: "client:c1", Counted: []string{n.tenant},
	}
	for i, want := range []int{1, 0} {
		if got, err := n.Disable(t.Context(), d, now0+5); err != nil || got != want {
			t.Errorf("call %d: %d, %v; want %d", i, got, err, want)
		}
	}
	for _, l := range []newsletter{n, other} {
		if l.status("a@example.org") != "unsubscribed" || l.status("z@example.org") != "active" {
			t.Errorf("a %s, z %s", l.status("a@example.org"), l.status("z@example.org"))
		}
	}
	if got := n.events(); len(got) != 6 {
		t.Errorf("events %v", got)
	}
	if trail, _, err := n.Audit(t.Context(), core.AuditFilter{}, core.Page{Limit: 100}); err != nil ||
		!slices.ContainsFunc(trail, func(a core.AuditEntry) bool {
			return a.Action == "address.disable" && a.Actor == "client:c1" && a.Object == core.Email("A@example.org").Mask()
		}) {
		t.Errorf("the audit trail has %v, %v", trail, err)
	}
	if lifted, err := n.Lift(t.Context(), "a@example.org", "", "test", now0+6); err != nil || len(lifted) != 1 {
		t.Error(lifted, err)
	}
	n.subscribe("a@example.org", "", now0+9)
	if got := n.status("a@example.org"); got != "pending" {
		t.Errorf("after lifting it: %s", got)
	}
}

func TestDisableForOneTenant(t *testing.T) {
	n := testNewsletter(t)
	n.activate("a@example.org", now0)
	if _, err := n.Disable(t.Context(), DisableRequest{Email: "a@example.org", TenantID: core.NewID()},
		now0); err != nil {
		t.Fatal(err)
	}
	if got := n.status("a@example.org"); got != "active" {
		t.Errorf("another tenant's word made it %s", got)
	}
}

func TestListRecordFollowsChanges(t *testing.T) {
	n := testNewsletter(t)
	n.subscribe("a@example.org", "", now0)
	ask := func() error {
		_, _, err := n.Subscribe(t.Context(), SubscribeRequest{ListID: n.list, Email: "b@example.org"}, now0)
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
		n.sql(c.sql)
		if err := ask(); !errors.Is(err, c.want) {
			t.Errorf("after %s: %v, want %v", c.sql, err, c.want)
		}
	}
}

func TestSubscriptionsInPages(t *testing.T) {
	n := testNewsletter(t)
	for i := range 25 {
		n.subscribe(core.Email(fmt.Sprintf("s%d@example.org", i)), "", now0)
	}
	seen, after := 0, ""
	for {
		page, err := n.Subscriptions(t.Context(), n.list, after, 10)
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

// An event that is refused for good is a dead letter, unless its list has been deleted: then no one could deliver it
// ever.
func TestRefusedEventsOfADeletedList(t *testing.T) {
	n := testNewsletter(t)
	n.activate("a@example.org", now0)
	gone := n
	gone.list = n.addList(n.tenant)
	gone.activate("b@example.org", now0)
	due, err := n.DueEvents(t.Context(), "", now0.Add(day), 10)
	if err != nil || len(due) != 2 {
		t.Fatal(due, err)
	}
	if err := n.DeleteList(t.Context(), gone.list, "test", now0); err != nil {
		t.Fatal(err)
	}
	var refused []EventResult
	for i := range due {
		refused = append(refused, EventResult{Event: &due[i], Dead: true, Reason: "HTTP 422"})
	}
	if err := n.FinishEvents(t.Context(), refused, now0+1); err != nil {
		t.Fatal(err)
	}
	left, err := n.OutboxEvents(t.Context(), OutboxFilter{}, 0, 10)
	if err != nil || len(left) != 1 || left[0].ListID != n.list || left[0].DeadAt == 0 {
		t.Errorf("left in the outbox: %+v, %v", left, err)
	}
}

func TestOutboxKeepsOrder(t *testing.T) {
	n := testNewsletter(t)
	n.activate("a@example.org", now0)
	if _, err := n.leave("a@example.org", now0); err != nil {
		t.Fatal(err)
	}
	n.activate("b@example.org", now0)
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
	if err := n.FinishEvents(t.Context(), []EventResult{
		{Event: &first[0], RetryAt: later, Reason: "500"},
		{Event: &first[2], Done: true},
	}, now0+100); err != nil {
		t.Fatal(err)
	}
	n.activate("a@example.org", now0+200) // a third event of a: it may not overtake
	if got := due(now0 + 4000); len(got) != 0 {
		t.Errorf("due while the first one waits: %+v", got)
	}
	if at, err := n.NextEvent(t.Context(), "", now0+4000); at != later || err != nil {
		t.Errorf("next %v, %v; want %v", at, err, later)
	}
	if moved, err := n.WakeEvents(t.Context(), "", now0+4000, 100); moved != 3 || err != nil {
		t.Errorf("woke %d, %v", moved, err)
	}
	got := due(now0 + 4000)
	if len(got) != 3 || got[0].EventID != first[0].EventID || got[1].EventID != first[1].EventID || got[0].Tries != 1 {
		t.Fatalf("after waking: %+v", got)
	}
	if err := n.FinishEvents(t.Context(), []EventResult{{Event: &got[0], Dead: true, Reason: "422"}},
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
	n := testNewsletter(t)
	n.subscribe("new@example.org", "", now0)
	n.activate("back@example.org", now0)
	if _, err := n.leave("back@example.org", now0); err != nil {
		t.Fatal(err)
	}
	n.subscribe("back@example.org", "", now0)
	if _, err := n.Housekeeping(t.Context(), Retention{Pending: 30 * 24 * time.Hour},
		now0.Add(31*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := n.status("new@example.org"); got != core.ErrSubscriptionNotFound.Error() {
		t.Errorf("one that never confirmed: %s", got)
	}
	if got := n.status("back@example.org"); got != core.SubscriptionUnsubscribed {
		t.Errorf("one that had left before: %s", got)
	}
	if got := n.count("SELECT count(*) FROM confirm_token"); got != 0 {
		t.Errorf("%d confirm tokens are left", got)
	}
}
