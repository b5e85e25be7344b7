package worker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/tenants"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// TestRemovalsDontDelayJobs checks that only the loop of removals removes subscribers that a full sync did not include.
// The scheduler would wait for the share of the writer that removals get.
func TestRemovalsDontDelayJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, &smtptest.Sender{})
		h.Readers(h.List, 1200)
		removals := worker.Removals(h.Store, h.Opts.Log)
		h.Start()
		coretest.Settle(time.Second)
		f := h.Batch(h.List, core.NewID(), 1, 1)
		h.Must(h.ApplyBatch(t.Context(), tenants.Nonce{ClientID: "c", Nonce: core.NewID()}, f, h.Time()))
		j := h.Job()
		coretest.Settle(time.Minute)
		active := func() (n int64) {
			h.Helper()
			counts, err := h.ListCounts(t.Context(), []string{h.List.ID})
			h.Must(err)
			return counts[h.List.ID].Mailable
		}
		if j = h.Reload(j); active() != 1200 || j.Sent != 1200 {
			t.Errorf("%d subscribers, %d emails; want 1200", active(), j.Sent)
		}
		h.Run(removals)
		coretest.Settle(time.Second)
		if n := active(); n != 0 {
			t.Errorf("%d subscribers are left", n)
		}
		h.Readers(h.List, 700)
		time.Sleep(time.Second)
		f = h.Batch(h.List, core.NewID(), 1, 1)
		h.Must(h.ApplyBatch(t.Context(), tenants.Nonce{ClientID: "c", Nonce: core.NewID()}, f, h.Time()))
		coretest.Settle(time.Second)
		if n := active(); n != 0 {
			t.Errorf("%d subscribers are left after the second sync", n)
		}
	})
}
