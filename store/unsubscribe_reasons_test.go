package store_test

import (
	"fmt"
	"slices"
	"testing"

	"newsletterd/core"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// After a one-click unsubscribe, the person can later give a reason, but only once, with the same kind of token.
func TestUnsubscribeReasonComesLater(t *testing.T) {
	for name, c := range map[string]struct {
		left        string // proof of the first request
		first, then string // reasons of both requests
		by          string // proof of the second request
		want        string
	}{
		"later":                    {core.ProofMailed, "", "too_many", core.ProofMailed, "too_many"},
		"later, by a token asked":  {core.ProofResponse, "", "too_many", core.ProofResponse, "too_many"},
		"the first one stays":      {core.ProofMailed, "boring", "too_many", core.ProofMailed, "boring"},
		"none again":               {core.ProofMailed, "boring", "", core.ProofMailed, "boring"},
		"by a token that is asked": {core.ProofMailed, "", "too_many", core.ProofResponse, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := storetest.SeedList(t, now0)
			n.Active(n.ListID, "ann@example.org")
			l := members.UnsubscribeRequest{
				ListID: n.ListID, SubscriptionID: n.SubscriptionID(n.ListID, "ann@example.org"),
				Email: "ann@example.org", Proof: c.left, Reason: c.first,
			}
			n.Must(n.Unsubscribe(t.Context(), l, now0+10))
			l.Proof, l.Reason = c.by, c.then
			n.Must(n.Unsubscribe(t.Context(), l, now0+20))
			reasons, err := n.LeaveReasons(t.Context(), n.ListID)
			if err != nil || len(reasons) != 1 || reasons[0].Reason != c.want || reasons[0].Leavers != 1 {
				t.Errorf("%+v, %v; want %q", reasons, err, c.want)
			}
		})
	}
}

// A reason given after the person was blocked is not added to an earlier unsubscribe.
func TestUnsubscribeReasonAfterADisabling(t *testing.T) {
	n := storetest.SeedList(t, now0)
	u := leaver(n, "ann@example.org", core.ProofMailed, now0)
	n.Must(n.Undo(t.Context(), u, now0+20))
	n.Must(n.Disable(t.Context(), members.DisableRequest{Email: "ann@example.org"}, now0+30))
	l := members.UnsubscribeRequest{
		ListID: n.ListID, SubscriptionID: u.SubscriptionID, Email: "ann@example.org",
		Proof: core.ProofMailed, Reason: "too_many",
	}
	n.Must(n.Unsubscribe(t.Context(), l, now0+40))
	if got := n.Count("SELECT count(*) FROM consent WHERE reason <> ''"); got != 0 {
		t.Errorf("%d reasons", got)
	}
}

// An unsubscribe that was undone doesn't count in the reasons. The next unsubscribe does.
func TestReasonsLeaveOutWhoTookItBack(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Active(n.ListID, "ann@example.org")
	l := members.UnsubscribeRequest{
		ListID: n.ListID, SubscriptionID: n.SubscriptionID(n.ListID, "ann@example.org"),
		Email: "ann@example.org", Proof: core.ProofMailed, Reason: "too_many",
	}
	sub, err := n.Unsubscribe(t.Context(), l, now0+10)
	n.Must(err)
	n.Must(n.Undo(t.Context(), people.UndoRequest{
		ListID: n.ListID, SubscriptionID: l.SubscriptionID,
		LeftAt: sub.ChangedAt,
	}, now0+20))
	if reasons, err := n.LeaveReasons(t.Context(), n.ListID); err != nil || len(reasons) != 0 {
		t.Errorf("%+v, %v", reasons, err)
	}
	l.Reason = "content"
	n.Must(n.Unsubscribe(t.Context(), l, now0+30))
	if reasons, err := n.LeaveReasons(t.Context(),
		n.ListID); err != nil || len(reasons) != 1 || reasons[0].Reason != "content" || reasons[0].Leavers != 1 {
		t.Errorf("%+v, %v", reasons, err)
	}
}

// A reason with a comment is grouped with the same reason without one, and the latest comment is shown.
func TestReasonsHaveTheNewestWords(t *testing.T) {
	n := storetest.SeedList(t, now0)
	for i, reason := range []string{"other: too long", "content", "other", "", "other: no roses", "content", "other"} {
		l := leaver(n, core.Email(fmt.Sprint("ann", i, "@example.org")), core.ProofMailed, now0+core.Instant(i*100))
		_, err := n.Unsubscribe(t.Context(), members.UnsubscribeRequest{
			ListID: n.ListID, SubscriptionID: l.SubscriptionID, Email: core.Email(fmt.Sprint("ann", i, "@example.org")),
			Proof: core.ProofMailed, Reason: reason,
		}, now0+core.Instant(i*100+50))
		n.Must(err)
	}
	reasons, err := n.LeaveReasons(t.Context(), n.ListID)
	n.Must(err)
	var got []string
	for _, r := range reasons {
		got = append(got, fmt.Sprint(r.Reason, " ", r.Leavers, " ", r.LastAt > 0, " ", r.LastWords))
	}
	want := []string{"other 4 true no roses", "content 2 true ", " 1 true "}
	if !slices.Equal(got, want) || reasons[0].LastAt <= reasons[1].LastAt || reasons[1].LastAt <= reasons[2].LastAt {
		t.Errorf("%+v", reasons)
	}
}
