package store_test

import (
	"testing"

	"newsletterd/core"
	"newsletterd/store/campaigns"
)

// TestCampaignBounces checks that refusals and bounces of a campaign are counted by class and domain, each email once.
func TestCampaignBounces(t *testing.T) {
	w := newProviderWorld(t)
	l := w.NewList()
	w.Readers(l, 6, func(k int) core.Email {
		return core.Email(string(rune('a'+k)) + "@" + []string{"one.example", "two.example"}[k%2])
	})
	j := w.Start(w.NewJob(l.ID))
	all, err := w.Recipients(t.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 10})
	w.Must(err)
	seqs := map[string]int64{}
	for _, r := range all {
		seqs[r.Email] = r.Seq
	}
	out := func(email string, state int, reason string) core.Outcome {
		o := core.Outcome{
			JobNo: j.No, TenantID: j.TenantID, Seq: seqs[email], State: state, Reason: reason, Tried: true,
		}
		if state == core.RecipientDeferred {
			o.DueAt = w.Now.Add(1e12)
		}
		return o
	}
	w.Must(w.FinishRecipients(t.Context(), []core.Outcome{
		out("a@one.example", core.RecipientFailed, "550 5.1.1 no such user"),
		out("b@two.example", core.RecipientFailed, "550 5.7.1 spam"),
		out("c@one.example", core.RecipientDeferred, "452 4.2.2 full"),
		out("d@two.example", core.RecipientSent, ""), out("e@one.example", core.RecipientSent, ""),
		out("f@two.example", core.RecipientFailed, core.ReasonRender),
	}, w.Now))
	e := w.event(core.ProviderHardBounced, "d@two.example")
	w.report(core.ProviderReport{Event: e, JobNo: j.No, Seq: seqs["d@two.example"]})
	e = w.event(core.ProviderSoftBounced, "e@one.example")
	w.report(core.ProviderReport{Event: e, JobNo: j.No, Seq: seqs["e@one.example"]})
	got, err := w.CampaignBounces(t.Context(), j.CampaignID)
	w.Must(err)
	if want := (core.BounceCounts{Gone: 2, Full: 1, Blocked: 1, Later: 1}); got.Classes != want ||
		got.Recipients != 5 || got.Partial {
		t.Errorf("%+v, want %+v", got, want)
	}
	if len(got.Domains) != 2 || got.Domains[0].Domain != "one.example" || got.Domains[0].Recipients != 3 ||
		got.Domains[1].BounceCounts != (core.BounceCounts{Gone: 1, Blocked: 1}) {
		t.Errorf("%+v", got.Domains)
	}
}
