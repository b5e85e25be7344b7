package worker_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// TestACampaignDelaysNobodysMail checks that an email to one person doesn't wait for a campaign. It is queued, read and
// sent within a second while a large, signed job is sent as fast as possible, and while the relay of that job makes it
// wait. BenchmarkMailDuringAJob measures the time on a busy machine.
func TestACampaignDelaysNobodysMail(t *testing.T) {
	for name, prepare := range map[string]func(h *workertest.Harness){
		"at full speed": func(*workertest.Harness) {},
		"signed": func(h *workertest.Harness) {
			h.DKIMKey(core.DKIMRSA, "one")
			h.Opts.Signers = worker.NewSigners(h.Store)
		},
		"at a pace": func(h *workertest.Harness) { h.Opts.Limits.PerSecond = 20 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &smtptest.Sender{Message: func(*smtp.Envelope) { time.Sleep(200 * time.Millisecond) }}
				h := workertest.New(t, s)
				prepare(h)
				h.Readers(h.List, 2000)
				h.Start()
				h.Run(worker.Mailer(h.MailerOptions()))
				j := h.Job()
				time.Sleep(time.Second)
				for k := range 8 {
					to := core.Email(fmt.Sprintf("one%d@example.net", k))
					h.Pending(h.List.ID, to)
					coretest.Settle(time.Second)
					if s.Count()[string(to)] != 1 {
						t.Errorf("%s has no mail after a second", to)
					}
				}
				j, err := h.CancelSendJob(t.Context(), j.ID, core.At(time.Now()))
				h.Must(err)
				if j.Sent == 0 || j.Sent == j.Recipients {
					t.Errorf("the job had sent %d of %d", j.Sent, j.Recipients)
				}
			})
		})
	}
}
