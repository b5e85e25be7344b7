package worker_test

import (
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/mail/mailtest"
	"newsletterd/mail/smtp"
	"newsletterd/worker/workertest"
)

func TestAJobReachesEverybodyOnce(t *testing.T) {
	sink := mailtest.StartSink(t, mailtest.SinkOptions{Records: true})
	h := workertest.New(t, &smtp.Client{Addr: sink.Addr()})
	h.Readers(h.List, 3000)
	h.Start()
	began := time.Now()
	j := h.Wait(h.Job())
	t.Logf("3000 mails in %v", time.Since(began))
	if j.Status != core.JobCompleted || j.Sent != 3000 || j.Recipients != 3000 {
		t.Errorf("%+v", j)
	}
	seen, ids := map[string]int{}, map[string]bool{}
	for _, r := range sink.Records() {
		seen[r.Rcpt]++
		ids[r.MessageID] = true
	}
	if len(seen) != 3000 || len(ids) != 3000 || sink.Count() != 3000 {
		t.Errorf("%d addresses, %d Message-IDs, %d messages", len(seen), len(ids), sink.Count())
	}
}
