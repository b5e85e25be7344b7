package workertest

import (
	"time"

	"pgregory.net/rapid"

	"newsletterd/core"
	"newsletterd/store/campaigns"
)

// checkNow checks an invariant that always holds: with a shared database, a person gets no email after the response to
// their unsubscribe.
func (w *World) checkNow(*rapid.T) {
	if w.split {
		return
	}
	mailable := w.mailable()
	for _, p := range w.people {
		may := p.status == active && !p.blocked && !p.bounced && !w.isDisabled(p)
		if !may && mailable[w.Lists[p.list].ID+string(w.emails[p.email].Key())] {
			w.fail("%s is mailable", p)
		}
	}
}

// mailable creates a job for every list and returns its recipients.
func (w *World) mailable() map[string]bool {
	out, now := map[string]bool{}, core.At(time.Now())
	for _, l := range w.Lists {
		j, _, err := w.Send.AddSendJob(w.ctx(), campaigns.JobRequest{
			NewJob: core.NewJob{ListID: l.ID, Subject: "s", BodyText: "b"}, Caller: core.CommandCaller("u"),
			CreatedBy: "u",
		}, now)
		w.must(err)
		_, err = w.Send.StartDueJobs(w.ctx(), now)
		w.must(err)
		for more := true; more; {
			more, err = w.Send.ExpandJob(w.ctx(), j.No, now)
			w.must(err)
		}
		claims, err := w.Send.ClaimRecipients(w.ctx(), nil,
			&campaigns.ClaimKey{JobNo: j.No, TenantID: l.TenantID, ListID: l.ID}, 0,
			2000)
		w.must(err)
		for _, c := range claims {
			if c.Skip == "" {
				out[l.ID+c.EmailKey] = true
			}
		}
	}
	return out
}
