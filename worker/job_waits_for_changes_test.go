package worker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/imports"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// TestJobWaitsForChangesUnderway checks that a job includes recipients who were imported just before it, even if the
// send side doesn't know them yet. It waits neither for changes made during its wait, nor for changes that the send
// side refuses, nor forever.
func TestJobWaitsForChangesUnderway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, &smtptest.Sender{})
		sender := worker.NewSender(h.Store, h.Relay, h.Opts)
		h.Run(worker.Scheduler(h.Store, sender, h.Opts.Log))
		im, err := h.NewImport(t.Context(), h.List.ID, core.SubscriptionActive, "test")
		h.Must(err)
		rows := make([]imports.ImportRow, 20)
		for i := range rows {
			rows[i].Email = storetest.Reader(i)
		}
		h.Must(im.Add(t.Context(), rows, h.Time()))
		j := h.Job()
		coretest.Settle(time.Second)
		if j = h.Reload(j); j.Recipients != 0 || j.Expanded {
			t.Errorf("before anything is delivered: %d recipients, expanded %t", j.Recipients, j.Expanded)
		}
		due, err := h.DueEvents(t.Context(), "", h.Time(), 1000)
		h.Must(err)
		for i := range due { // does the same as the outbox
			_, err := workertest.Services{Send: h.Store}.Accept(t.Context(), workertest.EventPath, []byte(due[i].Body))
			h.Must(err)
			h.Must(h.FinishEvents(t.Context(), []tenants.EventResult{{Event: &due[i], Done: true}}, h.Time()))
		}
		h.Active(h.List.ID, "late@example.org")
		coretest.Settle(time.Second)
		if j = h.Reload(j); j.Recipients != 20 || !j.Expanded {
			t.Errorf("%d recipients, expanded %t, want 20", j.Recipients, j.Expanded)
		}

		j = h.Job() // the event of late is on its way; the send side doesn't know late yet
		coretest.Settle(time.Second)
		if j = h.Reload(j); j.Recipients != 0 {
			t.Errorf("%d recipients before the event has failed", j.Recipients)
		}
		due, err = h.DueEvents(t.Context(), "", h.Time(), 1)
		h.Must(err)
		h.Must(h.FinishEvents(t.Context(), []tenants.EventResult{{
			Event: &due[0], RetryAt: h.Time().Add(time.Hour), Reason: "503",
		}}, h.Time()))
		coretest.Settle(time.Second)
		if j = h.Reload(j); j.Recipients != 20 || !j.Expanded {
			t.Errorf("%d recipients, expanded %t, after the event has failed", j.Recipients, j.Expanded)
		}

		_, err = h.RequestSync(t.Context(), h.List.ID, h.Time())
		h.Must(err)
		j = h.Job()
		coretest.Settle(14 * time.Minute)
		if j = h.Reload(j); j.Recipients != 0 {
			t.Errorf("%d recipients while a sync is open", j.Recipients)
		}
		coretest.Settle(2 * time.Minute) // the maximum is a quarter of an hour
		if j = h.Reload(j); j.Recipients != 20 || !j.Expanded {
			t.Errorf("%d recipients, expanded %t, after all that time", j.Recipients, j.Expanded)
		}
	})
}
