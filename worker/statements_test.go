package worker_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
	"newsletterd/worker/workertest"
)

// TestStatementsOfAMailing checks that 1,000 emails take 170 to 290 statements, including those that find the
// recipients and begin and end transactions. The faster outcomes are recorded, the smaller the batches. No statement is
// for a single email.
func TestStatementsOfAMailing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes too long for a short run")
	}
	const readers, most = 20_000, 500
	synctest.Test(t, func(t *testing.T) {
		f := storetest.NewFaults(t)
		h := workertest.NewOn(t, storetest.OpenWith(t, db.Options{Driver: f.Driver}), &smtptest.Sender{})
		h.Readers(h.List, readers)
		var statements atomic.Int64
		f.FailWhen(func(string) bool { statements.Add(1); return false })
		h.Start()
		h.AddsUp(h.Wait(h.Job(func(n *core.NewJob) { n.BodyText = "News" })), readers, 0, 0)
		f.FailWhen(func(string) bool { return false })
		per := float64(statements.Load()) * 1000 / readers
		t.Logf("%.1f statements for 1,000 mails", per)
		if per > most {
			t.Errorf("%.1f statements for 1,000 mails; %d at most", per, most)
		}
	})
}
