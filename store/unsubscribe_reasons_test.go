package store

import (
	"testing"

	"newsletterd/core"
)

// Who has left by one click may say why afterwards, once, by the same kind of token.
func TestUnsubscribeReasonComesLater(t *testing.T) {
	for name, c := range map[string]struct {
		left        string // the means
		first, then string // the reasons
		by          string // the means of the second
		want        string
	}{
		"later":                    {core.ProofMailed, "", "too_many", core.ProofMailed, "too_many"},
		"later, by a token asked":  {core.ProofResponse, "", "too_many", core.ProofResponse, "too_many"},
		"the first one stays":      {core.ProofMailed, "boring", "too_many", core.ProofMailed, "boring"},
		"none again":               {core.ProofMailed, "boring", "", core.ProofMailed, "boring"},
		"by a token that is asked": {core.ProofMailed, "", "too_many", core.ProofResponse, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := testNewsletter(t)
			n.active("ann@example.org", now0)
			l := UnsubscribeRequest{
				ListID: n.list, SubscriptionID: n.SubscriptionID(n.list, "ann@example.org"),
				Email: "ann@example.org", Proof: c.left, Reason: c.first,
			}
			must(t, onlyErr(n.Unsubscribe(t.Context(), l, now0+10)))
			l.Proof, l.Reason = c.by, c.then
			must(t, onlyErr(n.Unsubscribe(t.Context(), l, now0+20)))
			reasons, err := n.LeaveReasons(t.Context(), n.list)
			if err != nil || len(reasons) != 1 || reasons[0].Reason != c.want || reasons[0].Leavers != 1 {
				t.Errorf("%+v, %v; want %q", reasons, err, c.want)
			}
		})
	}
}

// A reason that comes after a person was switched off belongs to no earlier unsubscribe.
func TestUnsubscribeReasonAfterADisabling(t *testing.T) {
	n := testNewsletter(t)
	u := n.leaver("ann@example.org", core.ProofMailed, now0)
	must(t, onlyErr(n.Undo(t.Context(), u, now0+20)))
	must(t, onlyErr(n.Disable(t.Context(), DisableRequest{Email: "ann@example.org"}, now0+30)))
	l := UnsubscribeRequest{
		ListID: n.list, SubscriptionID: u.SubscriptionID, Email: "ann@example.org",
		Proof: core.ProofMailed, Reason: "too_many",
	}
	must(t, onlyErr(n.Unsubscribe(t.Context(), l, now0+40)))
	if got := n.count("SELECT count(*) FROM consent WHERE reason <> ''"); got != 0 {
		t.Errorf("%d reasons", got)
	}
}

// An unsubscribe that was taken back counts for no reason; the next one does.
func TestReasonsLeaveOutWhoTookItBack(t *testing.T) {
	n := testNewsletter(t)
	n.active("ann@example.org", now0)
	l := UnsubscribeRequest{
		ListID: n.list, SubscriptionID: n.SubscriptionID(n.list, "ann@example.org"),
		Email: "ann@example.org", Proof: core.ProofMailed, Reason: "too_many",
	}
	sub, err := n.Unsubscribe(t.Context(), l, now0+10)
	must(t, err)
	must(t, onlyErr(n.Undo(t.Context(), UndoRequest{
		ListID: n.list, SubscriptionID: l.SubscriptionID,
		LeftAt: sub.ChangedAt,
	}, now0+20)))
	if reasons, err := n.LeaveReasons(t.Context(), n.list); err != nil || len(reasons) != 0 {
		t.Errorf("%+v, %v", reasons, err)
	}
	l.Reason = "content"
	must(t, onlyErr(n.Unsubscribe(t.Context(), l, now0+30)))
	if reasons, err := n.LeaveReasons(t.Context(),
		n.list); err != nil || len(reasons) != 1 || reasons[0].Reason != "content" || reasons[0].Leavers != 1 {
		t.Errorf("%+v, %v", reasons, err)
	}
}
