package store_test

import (
	"errors"
	"testing"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// leaver creates an address that was active on a list and has unsubscribed. It returns the content of its undo token.
func leaver(n *storetest.Seeder, email core.Email, proof string, at core.Instant) people.UndoRequest {
	n.Helper()
	n.At(at).Active(n.ListID, email)
	l := n.Leaving(n.ListID, email)
	l.Proof = proof
	sub, err := n.Unsubscribe(n.Context(), l, at+10)
	n.Must(err)
	return people.UndoRequest{ListID: n.ListID, SubscriptionID: sub.ID, LeftAt: sub.ChangedAt}
}

func TestUndoRestoresTheEarlierConsent(t *testing.T) {
	n := storetest.SeedList(t, now0)
	u := leaver(n, "ann@example.org", core.ProofResponse, now0)
	if _, err := n.CanUndo(t.Context(), u, now0+20); err != nil {
		t.Error(err)
	}
	for range 2 { // the second call changes nothing
		sub, err := n.Undo(t.Context(), u, now0+20)
		if err != nil || sub.Status != core.SubscriptionActive || sub.Proof != core.ProofMailed || sub.Generation != 1 {
			t.Errorf("%+v, %v", sub, err)
		}
	}
	var words []string
	ledger, err := n.Consents(t.Context(), n.ListID, u.SubscriptionID)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range ledger {
		words = append(words, c.What+" "+c.Proof)
	}
	if got, want := len(words), 4; got != want || words[3] != "resumed undo" {
		t.Errorf("ledger %q", words)
	}
	if got := n.Count("SELECT count(*) FROM outbox WHERE event_type = 'subscription.activated'"); got != 2 {
		t.Errorf("%d events of an activation", got)
	}
}

// Undoing an unsubscribe reduces the count of the job whose email led to the unsubscribe, and of no other job.
func TestUndoLeavesTheCountOfTheJob(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.SQL("INSERT INTO campaign_copy (id, tenant_id, subject, created_at) VALUES ('c', ?, 'News', 1)", n.TenantID)
	for no := range 2 {
		n.SQL(`INSERT INTO send_job (no, id, tenant_id, list_id, copy_id, status, due_at, created_at, expanded)
			VALUES (?, ?, ?, ?, 'c', 'completed', 1, 1, 1)`, no+1, core.NewID(), n.TenantID, n.ListID)
	}
	leave := func(email core.Email, job int64, at core.Instant) core.Subscription {
		t.Helper()
		sub, err := n.Unsubscribe(t.Context(), members.UnsubscribeRequest{
			ListID: n.ListID, SubscriptionID: n.SubscriptionID(n.ListID,
				email.Key()), Email: email, Proof: core.ProofMailed, JobNo: job,
		}, at)
		if err != nil {
			t.Fatal(err)
		}
		return sub
	}
	counted := func(first, second int) {
		t.Helper()
		for no, want := range []int{first, second} {
			if got := n.Count("SELECT unsubscribed FROM send_job WHERE no = ?", no+1); got != want {
				t.Errorf("job %d counts %d who left, want %d", no+1, got, want)
			}
		}
	}
	for _, email := range []core.Email{"ann@example.org", "bob@example.org"} {
		n.Active(n.ListID, email)
		leave(email, 1, now0+10)
	}
	ann := leave("ann@example.org", 2, now0+12) // unsubscribing through the link in a later email changes nothing
	counted(2, 0)
	for range 2 {
		if _, err := n.Undo(t.Context(), people.UndoRequest{ListID: n.ListID, SubscriptionID: ann.ID, LeftAt: ann.ChangedAt},
			now0+20); err != nil {
			t.Fatal(err)
		}
		counted(1, 0)
	}
	leave("ann@example.org", 2, now0+30)
	counted(1, 1)
	n.At(now0+40).Active(n.ListID, "bob@example.org") // subscribing again undoes nothing
	counted(1, 1)
}

// An undo doesn't restore anyone who was blocked or suppressed, complained, unsubscribed again, or requested a new
// subscription.
func TestUndoResurrectsNobody(t *testing.T) {
	suppress := func(kind string) func(*storetest.Seeder, people.UndoRequest) {
		return func(n *storetest.Seeder, _ people.UndoRequest) {
			n.SQL("INSERT INTO suppression (tenant_id, email_key, kind, created_at) VALUES (?, 'ann@example.org', "+
				"?, 1)", n.TenantID, kind)
		}
	}
	for name, c := range map[string]struct {
		between func(*storetest.Seeder, people.UndoRequest)
		err     error
	}{
		"nothing":    {func(*storetest.Seeder, people.UndoRequest) {}, nil},
		"bounced":    {suppress("bounced"), nil},
		"complaint":  {suppress("complaint"), core.ErrInvalidToken},
		"suppressed": {suppress("suppressed"), core.ErrInvalidToken},
		"blocked on the send side": {func(n *storetest.Seeder, u people.UndoRequest) {
			n.SQL(`INSERT INTO subscriber (list_id, email_key, id, email, word, word_at, block, created_at, changed_at)
				VALUES (?, 'ann@example.org', ?, 'ann@example.org', 'unsubscribed', 1, 'complaint', 1, 1)`, u.ListID,
				u.SubscriptionID)
		}, core.ErrInvalidToken},
		"disabled": {func(n *storetest.Seeder, _ people.UndoRequest) {
			if _, err := n.Disable(n.Context(), members.DisableRequest{Email: "Ann@example.org"}, now0+15); err != nil {
				n.Fatal(err)
			}
		}, core.ErrInvalidToken},
		"disabled everywhere, then erased at another tenant": {func(n *storetest.Seeder, _ people.UndoRequest) {
			if _, err := n.Disable(n.Context(), members.DisableRequest{Email: "ann@example.org"}, now0+15); err != nil {
				n.Fatal(err)
			}
			other := core.NewID()
			n.SQL("INSERT INTO tenant (id, name, created_at, updated_at) VALUES (?, 'Other', 1, 1)", other)
			if _, err := n.ErasePerson(n.Context(), core.Person{Email: "ann@example.org", TenantID: other}, "test",
				now0+20); err != nil {
				n.Fatal(err)
			}
		}, core.ErrInvalidToken},
		"disabled, and kept as a hash": {func(n *storetest.Seeder, _ people.UndoRequest) {
			n.SQL("INSERT INTO erased (hash, tenant_id, kind, created_at) VALUES (?, '', 'disabled', 1)",
				n.SubscriptionID("erased", "ann@example.org"))
		}, core.ErrInvalidToken},
		"asked anew": {
			func(n *storetest.Seeder, _ people.UndoRequest) {
				n.At(now0+15).Request(n.ListID, "ann@example.org", "")
			},
			core.ErrInvalidToken,
		},
		"left again": {
			func(n *storetest.Seeder, _ people.UndoRequest) {
				leaver(n, "ann@example.org", core.ProofMailed, now0+15)
			},
			core.ErrInvalidToken,
		},
		"list inactive": {func(n *storetest.Seeder, _ people.UndoRequest) {
			n.SQL("UPDATE list SET status = 'inactive'")
		}, core.ErrListInactive},
		"list deleted": {
			func(n *storetest.Seeder, _ people.UndoRequest) { n.SQL("UPDATE list SET deleted_at = 1") },
			core.ErrSubscriptionNotFound,
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := storetest.SeedList(t, now0)
			u := leaver(n, "ann@example.org", core.ProofResponse, now0)
			c.between(n, u)
			_, can := n.CanUndo(t.Context(), u, now0+40)
			_, err := n.Undo(t.Context(), u, now0+40)
			if !errors.Is(err, c.err) || !errors.Is(can, c.err) {
				t.Errorf("can %v, does %v, want %v", can, err, c.err)
			}
		})
	}
}

// If a block is lifted later, an earlier undo link still doesn't work, because the block came after the subscriber's
// own action.
func TestUndoOfADisablingThatWasLifted(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Active(n.ListID, "ann@example.org")
	if _, err := n.Disable(t.Context(), members.DisableRequest{Email: "ann@example.org"}, now0+5); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Lift(t.Context(), "ann@example.org", "", "test", now0+6); err != nil {
		t.Fatal(err)
	}
	u := people.UndoRequest{
		ListID: n.ListID, SubscriptionID: n.SubscriptionID(n.ListID, "ann@example.org"),
		LeftAt: now0 + 5,
	}
	if _, err := n.Undo(t.Context(), u, now0+9); !errors.Is(err, core.ErrInvalidToken) {
		t.Error(err)
	}
}

// An unsubscribe with a token that anyone can request sends a notice with an undo link if it ended a subscription. It
// always writes a row.
func TestNoticeOfAnUnsubscribing(t *testing.T) {
	for _, c := range []struct {
		name, means  string
		before       func(*storetest.Seeder)
		rows, queued int
	}{
		{
			"requested, active", core.ProofResponse, func(n *storetest.Seeder) { n.Active(n.ListID, "ann@example.org") },
			1, 1,
		},
		{
			"requested, pending", core.ProofResponse,
			func(n *storetest.Seeder) { n.Request(n.ListID, "ann@example.org", "") }, 1,
			0,
		},
		{"requested, left", core.ProofResponse, func(n *storetest.Seeder) {
			leaver(n, "ann@example.org", core.ProofMailed,
				now0)
		}, 1, 0},
		{"requested, stranger", core.ProofResponse, func(*storetest.Seeder) {}, 1, 0},
		{"mailed, active", core.ProofMailed, func(n *storetest.Seeder) { n.Active(n.ListID, "ann@example.org") }, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := storetest.SeedList(t, now0)
			c.before(n)
			_, err := n.Unsubscribe(t.Context(), members.UnsubscribeRequest{
				ListID: n.ListID, SubscriptionID: n.SubscriptionID(n.ListID,
					"ann@example.org"), Email: "ann@example.org", Proof: c.means,
			}, now0+20)
			if err != nil && !errors.Is(err, core.ErrSubscriptionNotFound) {
				t.Fatal(err)
			}
			if got := n.Count("SELECT count(*) FROM mail WHERE kind = 'unsubscribed'"); got != c.rows {
				t.Errorf("%d rows, want %d", got, c.rows)
			}
			if got := n.Count("SELECT count(*) FROM mail WHERE kind = 'unsubscribed' AND state = 0 AND tenant_id = "+
				"? AND created_at = ?", n.TenantID, now0+20); got != c.queued {
				t.Errorf("%d queued, want %d", got, c.queued)
			}
		})
	}
}

// Repeated rounds of subscribing, confirming with the token in the answer and unsubscribing send at most as many undo
// links as there are confirmations. Further rounds still work, and add at most one row per list.
func TestUndoLinksAreThrottled(t *testing.T) {
	n := storetest.SeedList(t, now0)
	at := now0
	round := func(list string) {
		t.Helper()
		n.ListID = list
		leaver(n, "ann@example.org", core.ProofResponse, at)
		at += 100
	}
	count := func(state int) int {
		return n.Count("SELECT count(*) FROM mail WHERE kind = 'unsubscribed' AND state = ?", state)
	}
	first := n.ListID
	for range store.UndosPerListEmail + 2 {
		round(first)
	}
	if count(store.MailQueued) != store.UndosPerListEmail || count(store.MailLeftOut) != 1 {
		t.Errorf("one list: %d queued, %d left out", count(store.MailQueued), count(store.MailLeftOut))
	}
	for range store.UndosPerEmail { // each list could send a link
		round(n.NewList().ID)
	}
	if count(store.MailQueued) != store.UndosPerEmail || count(store.MailLeftOut) != 1+store.UndosPerListEmail {
		t.Errorf("all lists: %d queued, %d left out", count(store.MailQueued), count(store.MailLeftOut))
	}
	at = at.Add(store.MailPeriod)
	round(first)
	if count(store.MailQueued) != store.UndosPerEmail+1 {
		t.Errorf("a day later: %d queued", count(store.MailQueued))
	}
}
