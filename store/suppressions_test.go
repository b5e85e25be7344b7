package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
)

// kinds returns the kinds of blocks of an address.
func kinds(n *storetest.Seeder, email core.Email, tenantID string) (kinds []string) {
	n.Helper()
	found, err := n.Suppressions(n.Context(), email, tenantID)
	n.Must(err)
	for _, f := range found {
		kinds = append(kinds, f.Kind)
	}
	slices.Sort(kinds)
	return kinds
}

func TestSuppressAndLift(t *testing.T) {
	for _, everywhere := range []bool{true, false} {
		t.Run(fmt.Sprintf("everywhere %v", everywhere), func(t *testing.T) {
			n := storetest.SeedList(t, now0)
			n.Active(n.ListID, "Ann@example.org")
			n.Deliver()
			d := members.DisableRequest{
				Email: "ann@EXAMPLE.org", TenantID: n.TenantID, Reason: "asked", DisabledBy: "desk",
				OccurredAt: now0 + 5,
			}
			want := []string{"disabled", "suppressed", "suppressed"} // one of the tenant, one of the list
			if everywhere {
				d.TenantID, want = "", []string{"disabled", "suppressed"}
			}
			entries := 1
			if everywhere {
				entries = 2 // the tenant whose subscription ends gets an event too
			}
			departures := n.Departures(n.TenantID)
			if ended, err := n.Suppress(t.Context(), d, "test", now0+5); err != nil || ended != 1 {
				t.Fatal(ended, err)
			}
			sub, err := n.Subscriber(t.Context(), n.ListID, "ann@example.org")
			if err != nil || sub.Mailable() || n.MemberStatus(n.ListID, "ann@example.org") != "unsubscribed" ||
				n.Departures(n.TenantID) == departures {
				t.Errorf("%+v, %v; the member says %s", sub, err, n.MemberStatus(n.ListID, "ann@example.org"))
			}
			if got := kinds(n, "ann@example.org", ""); !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			if lifted, err := n.Lift(t.Context(), "ANN@example.org", d.TenantID, "test",
				now0+9); err != nil || len(lifted) != len(want) {
				t.Error(lifted, err)
			}
			if got := kinds(n, "ann@example.org", ""); len(got) > 0 {
				t.Errorf("%v is left", got)
			}
			if _, err := n.Lift(t.Context(), "ann@example.org", "", "test", now0+9); !errors.Is(err, core.ErrNotFound) {
				t.Errorf("lifted again: %v", err)
			}
			if n.Audited("suppression.create") != entries || n.Audited("suppression.delete") != 1 {
				t.Error("the audit trail lacks something")
			}
			n.At(now0+20).Active(n.ListID, "ann@example.org")
			if n.MemberStatus(n.ListID, "ann@example.org") != "active" {
				t.Error("cannot subscribe again")
			}
		})
	}
}

// Lifting one tenant's complaint also removes its pending disable request. The block for all tenants stays.
func TestLiftForOneTenant(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Active(n.ListID, "ann@example.org")
	n.Deliver()
	report := core.ProviderReport{Provider: "p", Key: []byte("1"), Event: core.ProviderEvent{
		Type: "complaint", MessageID: "m", TenantID: n.TenantID, Email: "ann@example.org", OccurredAt: now0 + 1,
	}}
	if err := n.ApplyReports(t.Context(), []core.ProviderReport{report}, now0+2); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Disable(t.Context(), members.DisableRequest{Email: "ann@example.org"}, now0+3); err != nil {
		t.Fatal(err)
	}
	if lifted, err := n.Lift(t.Context(), "ann@example.org", core.NewID(), "test", now0+4); !errors.Is(err,
		core.ErrNotFound) {
		t.Errorf("another tenant lifted %v, %v", lifted, err)
	}
	if lifted, err := n.Lift(t.Context(), "ann@example.org", n.TenantID, "test", now0+5); err != nil || len(lifted) != 2 {
		t.Error(lifted, err)
	}
	if got := kinds(n, "ann@example.org", n.TenantID); !slices.Equal(got, []string{"disabled"}) {
		t.Errorf("%v stands", got)
	}
	if due, err := n.DuePendingDisables(t.Context(), now0+9, 10); err != nil || len(due) > 0 {
		t.Errorf("still on its way: %+v, %v", due, err)
	}
}

// Pages don't skip anyone, even if the rows of an address for several tenants are at the end of a page.
func TestSuppressedPages(t *testing.T) {
	n := storetest.SeedList(t, now0)
	for i := range 5 {
		for _, tenant := range []string{"", "t1", "t2"} {
			n.SQL("INSERT INTO disabled VALUES (?, ?, 'r', 'd', 1, 1)", fmt.Sprintf("a%d@example.org", i), tenant)
			n.SQL(`INSERT INTO suppression (tenant_id, email_key, kind, reason, created_at)
			VALUES (?, ?, 'complaint', 'r', 1)`, tenant,
				fmt.Sprintf("a%d@example.org", i))
		}
	}
	for name, read := range map[string]func(after core.Suppressed) ([]core.Suppressed, error){
		"disabled": func(after core.Suppressed) ([]core.Suppressed, error) {
			return n.DisabledAddresses(t.Context(), "", after,
				4)
		},
		"suppressed": func(after core.Suppressed) ([]core.Suppressed, error) {
			return n.SuppressedAddresses(t.Context(), "",
				after, 4)
		},
	} {
		after, seen := core.Suppressed{}, 0
		for {
			page, err := read(after)
			if err != nil {
				t.Fatal(err)
			}
			if seen += len(page); len(page) < 4 {
				break
			}
			after = page[3]
		}
		if seen != 15 {
			t.Errorf("%s: %d rows, want 15", name, seen)
		}
	}
}

func TestRetryDead(t *testing.T) {
	n := storetest.SeedList(t, now0)
	for i := range 5 {
		n.Active(n.ListID, core.Email(fmt.Sprintf("a%d@example.org", i)))
	}
	events, err := n.DueEvents(t.Context(), "", now0, 10)
	if err != nil {
		t.Fatal(err)
	}
	results := make([]tenants.EventResult, 4)
	for i := range results {
		results[i] = tenants.EventResult{Event: &events[i], Dead: true, Reason: "HTTP 422"}
	}
	if err := n.FinishEvents(t.Context(), results, now0+1); err != nil {
		t.Fatal(err)
	}
	if dead, err := n.OutboxEvents(t.Context(), tenants.OutboxFilter{State: core.EventDead, TenantID: n.TenantID}, 0,
		10); err != nil || len(dead) != 4 {
		t.Fatal(dead, err)
	}
	if other, err := n.RetryDead(t.Context(), tenants.OutboxFilter{TenantID: core.NewID()}, 10, "test",
		now0+2); err != nil ||
		other != 0 {
		t.Error(other, err)
	}
	if moved, err := n.RetryDead(t.Context(), tenants.OutboxFilter{TenantID: n.TenantID}, 3, "test", now0+2); err != nil ||
		moved != 3 {
		t.Error(moved, err)
	}
	if e, err := n.OutboxEvent(t.Context(), events[3].EventID,
		""); err != nil || e[0].State() != core.EventDead || e[0].LastError != "HTTP 422" {
		t.Errorf("%+v, %v", e, err)
	}
	if n.Audited("outbox.retry") != 1 {
		t.Error("the audit trail lacks it")
	}
}

func TestSetSuppressionReason(t *testing.T) {
	n := storetest.SeedList(t, now0)
	const email = "ann@example.org"
	for _, tenant := range []string{"", n.TenantID} {
		if _, err := n.Suppress(t.Context(), members.DisableRequest{
			Email: email, TenantID: tenant, Reason: "first",
			OccurredAt: now0,
		}, "test", now0); err != nil {
			t.Fatal(err)
		}
	}
	reasons := func() (got []string) {
		rows, err := n.Suppressions(t.Context(), email, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.ListID == "" {
				got = append(got, r.Reason)
			}
		}
		return got
	}
	for _, c := range []struct {
		tenant string
		want   []string
		rows   int
	}{
		{n.TenantID, []string{"first", "1", "1"}, 2}, // disabled for all tenants, disabled and suppressed for one
		{"", []string{"2", "2", "2"}, 3},
	} {
		reason := c.want[2]
		rows, err := n.SetSuppressionReason(t.Context(), "Ann@example.org", c.tenant, reason, "test", now0+5)
		if got := reasons(); err != nil || len(rows) != c.rows || !slices.Equal(got, c.want) {
			t.Errorf("%q: %+v, %v; stand %v, want %v", c.tenant, rows, err, got, c.want)
		}
	}
	if _, err := n.SetSuppressionReason(t.Context(), email, core.NewID(), "3", "test", now0+6); !errors.Is(err,
		core.ErrNotFound) {
		t.Errorf("another tenant: %v", err)
	}
	if _, err := n.SetSuppressionReason(t.Context(), "bob@example.org", "", "3", "test", now0+6); !errors.Is(err,
		core.ErrNotFound) {
		t.Errorf("another address: %v", err)
	}
	if n.Audited("suppression.update") != 2 {
		t.Error("the audit trail lacks something")
	}
}

// A count of blocked addresses reads at most as many as it is allowed to, also if it looks for a rare kind of them.
func TestSuppressedCountIsBounded(t *testing.T) {
	n := storetest.SeedList(t, now0)
	var rows []imports.ImportRow
	for i := range 4 {
		rows = append(rows, blocks(core.Email(fmt.Sprintf("a%d@example.org", i)), core.StatusBounced))
	}
	j := imported(n, now0, append(rows, blocks("z@example.org", core.StatusComplaint))...)
	for _, importID := range []string{"", j.ID} {
		for _, tt := range []struct {
			kind string
			most int
			n    int64
			more bool
		}{
			{"", 5, 5, false},
			{"", 4, 4, true},
			{"bounced", 5, 4, false},
			{"complaint", 5, 1, false},
			{"complaint", 3, 0, true},
			{"bounced", 3, 3, true},
		} {
			got, more, err := n.CountSuppressed(t.Context(), n.TenantID, tt.kind, importID, tt.most)
			if err != nil || got != tt.n || more != tt.more {
				t.Errorf("%q of import %q, reading %d: %d, more: %v, %v", tt.kind, importID, tt.most, got, more, err)
			}
		}
	}
}

// A list of the blocked addresses has each once, with the bounce or complaint if there is one. Pages that are read
// while addresses are added repeat none and leave out none that was there before. Those of other tenants are not in it.
func TestSuppressedOnce(t *testing.T) {
	n := storetest.SeedList(t, now0)
	block := func(tenant string, email core.Email) {
		t.Helper()
		_, err := n.Suppress(t.Context(), members.DisableRequest{
			Email: email, TenantID: tenant, Reason: "asked", OccurredAt: now0,
		}, "test", now0)
		if err != nil {
			t.Fatal(err)
		}
	}
	imported(n, now0, blocks("b@example.org", core.StatusBounced), blocks("d@example.org", core.StatusComplaint),
		blocks("f@example.org", core.StatusSuppressed))
	block(n.TenantID, "a@example.org")
	block(n.TenantID, "e@example.org")
	_, err := n.Disable(t.Context(), members.DisableRequest{ // as a complaint does on the member side
		Email: "d@example.org", TenantID: n.TenantID, Reason: "complaint", OccurredAt: now0,
	}, now0)
	if err != nil {
		t.Fatal(err)
	}
	block(core.TenantNone, "everywhere@example.org")
	block(n.NewTenant().ID, "c@example.org")
	read := func(kind string, limit int, between func()) string {
		t.Helper()
		var all []string
		for after := ""; ; between() {
			rows, err := n.SuppressedOnce(t.Context(), n.TenantID, kind, after, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				all, after = append(all, r.Email[:1]+" "+r.Kind), r.Email
			}
			if len(rows) < limit {
				return strings.Join(all, ", ")
			}
		}
	}
	const all = "a disabled, b bounced, d complaint, e disabled, f suppressed"
	for _, tt := range []struct{ kind, want string }{
		{"", all},
		{"bounced", "b bounced"},
		{"complaint", "d complaint"},
		{"disabled", "a disabled, d disabled, e disabled"},
		{"suppressed", "a suppressed, e suppressed, f suppressed"},
	} {
		for _, limit := range []int{1, 2, 10} {
			if got := read(tt.kind, limit, func() {}); got != tt.want {
				t.Errorf("%q in pages of %d: %s", tt.kind, limit, got)
			}
		}
	}
	count, _, err := n.CountSuppressed(t.Context(), n.TenantID, "", "", 100)
	if err != nil || count != 5 {
		t.Errorf("%d counted, %v", count, err)
	}
	k := 0
	got := read("", 2, func() { // one before and one after the place of the reading
		k++
		block(n.TenantID, core.Email(fmt.Sprintf("a%d@example.org", k)))
		block(n.TenantID, core.Email(fmt.Sprintf("z%d@example.org", k)))
	})
	rest, ok := strings.CutPrefix(got, all)
	if z := ", z disabled"; !ok || len(rest) < 2*len(z) || strings.ReplaceAll(rest, z, "") != "" {
		t.Error(got)
	}
}
