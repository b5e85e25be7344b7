package store_test

import (
	"testing"

	"newsletterd/core"
	"newsletterd/store/members"
	"newsletterd/store/storetest"
)

// ownWords lists the ways in which people leave a list or are removed from it.
var ownWords = map[string]func(n *storetest.Seeder, email core.Email, now core.Instant){
	"mailed": func(n *storetest.Seeder, email core.Email, now core.Instant) {
		leavesBy(n, email, core.ProofMailed, now)
	},
	"answer": func(n *storetest.Seeder, email core.Email, now core.Instant) {
		leavesBy(n, email, core.ProofResponse, now)
	},
	"admin": func(n *storetest.Seeder, email core.Email, now core.Instant) {
		leavesBy(n, email, core.ProofAdmin, now)
	},
	"all lists": func(n *storetest.Seeder, email core.Email, now core.Instant) {
		_, err := n.UnsubscribeAll(n.Context(), n.TenantID,
			members.UnsubscribeRequest{Email: email, Proof: core.ProofMailed}, now)
		n.Must(err)
	},
	"switched off, and on again": func(n *storetest.Seeder, email core.Email, now core.Instant) {
		n.Must(n.Disable(n.Context(), members.DisableRequest{Email: email}, now))
		n.SQL("DELETE FROM disabled")
	},
}

func leavesBy(n *storetest.Seeder, email core.Email, proof string, now core.Instant) {
	n.Helper()
	l := members.UnsubscribeRequest{
		ListID: n.ListID, SubscriptionID: n.SubscriptionID(n.ListID, email.Key()), Email: email, Proof: proof,
		Reason: "too_many",
	}
	if proof == core.ProofAdmin {
		l.Actor = "user:1"
	}
	_, err := n.Unsubscribe(n.Context(), l, now)
	n.Must(err)
}

// TestOwnLeavingOutlivesTheImport checks people who unsubscribe, in any way, after a file has marked them as
// unsubscribed. They stay unsubscribed when the import of the file is undone, and later files don't make them active.
func TestOwnLeavingOutlivesTheImport(t *testing.T) {
	const bob = core.Email("bob@example.org")
	for name, leave := range ownWords {
		for _, known := range []bool{true, false} {
			for _, later := range []core.Instant{0, 1000} { // 0 means in the same millisecond as the import
				n := storetest.SeedList(t, now0)
				if known {
					imported(n, now0, joins(bob))
				}
				j := imported(n, now0+1000, leaves(bob, 0))
				events := n.Count("SELECT count(*) FROM outbox")
				leave(n, bob, now0+1000+later)
				leave(n, bob, now0+2000+later) // unsubscribing again changes nothing
				if got := n.Count("SELECT count(*) FROM outbox"); got != events {
					t.Errorf("%s, %t: %d more events", name, known, got-events)
				}
				if got := n.Count("SELECT count(*) FROM consent WHERE what IN ('unsubscribed', 'disabled') AND " +
					"means <> 'import'"); got != 1 {
					t.Errorf("%s, %t: %d entries in the ledger", name, known, got)
				}
				j = undone(n, j.ID, now0+5000)
				if got := statusOf(n, bob); got != core.SubscriptionUnsubscribed || j.UndoKept != 1 {
					t.Errorf("%s, %t: %q, %+v", name, known, got, j.ImportUndo)
				}
				imported(n, now0+6000, joins(bob))
				if got := statusOf(n, bob); got != core.SubscriptionUnsubscribed {
					t.Errorf("%s, %t: %q after a later file", name, known, got)
				}
				consistent(n)
			}
		}
	}
}

// TestOwnConfirmationOutlivesTheImport checks that people who confirm after a file has made them active stay when the
// import of the file is undone, whatever token they use.
func TestOwnConfirmationOutlivesTheImport(t *testing.T) {
	const ann = core.Email("ann@example.org")
	for _, proof := range []string{core.ProofResponse, core.ProofMailed} {
		for _, first := range []bool{true, false} { // whether the import comes first, or the request
			n := storetest.SeedList(t, now0)
			var j core.ImportJob
			if first {
				j = imported(n, now0, joins(ann))
			}
			token := n.Token(n.At(now0+1000).Request(n.ListID, ann, ""), proof)
			if !first {
				j = imported(n, now0+2000, joins(ann))
			}
			for range 2 {
				_, err := n.Confirm(t.Context(), token, core.Origin{}, now0+3000)
				n.Must(err)
			}
			if got := n.Count("SELECT count(*) FROM consent WHERE what = 'confirmed' AND means = ?", proof); got != 1 {
				t.Errorf("%s, %t: %d entries in the ledger", proof, first, got)
			}
			j = undone(n, j.ID, now0+4000)
			if got := statusOf(n, ann); got != core.SubscriptionActive || j.UndoKept != 1 {
				t.Errorf("%s, %t: %q, %+v", proof, first, got, j.ImportUndo)
			}
			consistent(n)
		}
	}
}

// TestUndoBringsBackNoUndoneState checks a file that unsubscribes people whom an earlier import added. That import is
// then undone. Undoing the file makes no one active.
func TestUndoBringsBackNoUndoneState(t *testing.T) {
	const bob = core.Email("bob@example.org")
	for want, asked := range map[string]bool{"": false, core.SubscriptionPending: true} {
		n := storetest.SeedList(t, now0)
		if asked {
			n.Pending(n.ListID, bob)
		}
		first, second := imported(n, now0+1000, joins(bob)), imported(n, now0+2000, leaves(bob, 0))
		undone(n, first.ID, now0+3000)
		if got := statusOf(n, bob); got != core.SubscriptionUnsubscribed {
			t.Errorf("%q after the first", got)
		}
		consistent(n)
		undone(n, second.ID, now0+4000)
		if got := statusOf(n, bob); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := n.Count("SELECT count(*) FROM consent WHERE means = 'import'"); got != 0 {
			t.Errorf("%d entries in the ledger", got)
		}
		consistent(n)
	}
}
