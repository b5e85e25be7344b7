package store_test

import (
	"testing"
	"time"

	"newsletterd/core"
)

// If reports about two emails say that an address probably doesn't exist, it counts as bounced on every list. Repeated
// reports about one email don't count.
func TestDoubtfulBounces(t *testing.T) {
	w := newProviderWorld(t)
	status := func(email core.Email, want core.Status) {
		t.Helper()
		if got := w.Status(w.lists[0].ID, email); got != want {
			t.Errorf("%s: %s, want %s", email, got, want)
		}
	}
	of := func(job core.SendJob, doubtful bool) core.ProviderReport {
		return core.ProviderReport{
			Event: w.event(core.ProviderSoftBounced, "ann@example.org"), JobNo: job.No, Seq: w.seq("ann@example.org"),
			Doubtful: doubtful,
		}
	}
	for range 4 {
		w.report(of(w.job, true))
	}
	status("ann@example.org", core.StatusActive)
	first := w.job
	w.job = w.Finish(w.NewJob(w.lists[0].ID))
	w.report(of(w.job, true))
	status("ann@example.org", core.StatusBounced)
	if got := w.Status(w.lists[1].ID, "ann@example.org"); got != core.StatusBounced {
		t.Errorf("in the other list: %s", got)
	}
	if got := w.Reload(first).Stats.Bounced + w.Reload(w.job).Stats.Bounced; got != 2 {
		t.Errorf("%d bounced", got)
	}
}

// A rejection that the sender caused counts for the email, but not against the address.
func TestSendersFaultIsNotTheAddresss(t *testing.T) {
	w := newProviderWorld(t)
	for day := range 9 {
		e := w.event(core.ProviderSoftBounced, "ann@example.org")
		e.OccurredAt = w.Now.Add(time.Duration(day-20) * 24 * time.Hour)
		w.report(core.ProviderReport{Event: e, JobNo: w.job.No, Seq: w.seq("ann@example.org"), Sender: true})
	}
	if got := w.Status(w.lists[0].ID, "ann@example.org"); got != core.StatusActive {
		t.Errorf("%s", got)
	}
	if got := w.Reload(w.job).Stats.Bounced; got != 1 {
		t.Errorf("%d bounced", got)
	}
}

// If the relay rejects two emails at RCPT as it would for an unknown user, these are two reports.
func TestDoubtfulRefusals(t *testing.T) {
	w := newProviderWorld(t)
	for i, want := range []core.Status{core.StatusActive, core.StatusBounced} {
		job := w.Start(w.NewJob(w.lists[0].ID))
		w.job = job
		w.Must(w.FinishRecipients(t.Context(), []core.Outcome{{
			JobNo: job.No, TenantID: w.TenantID, Seq: w.seq("bob@example.org"), EmailKey: "bob@example.org",
			State: core.RecipientFailed, Tried: true, Doubtful: true, Reason: "550 5.4.1 Recipient address rejected",
		}}, w.Now))
		if got := w.Status(w.lists[0].ID, "bob@example.org"); got != want {
			t.Errorf("after %d: %s, want %s", i+1, got, want)
		}
	}
}
