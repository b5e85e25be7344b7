package worker_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store"
	"newsletterd/worker"
)

// A mail to one person does not wait for a campaign: it is queued in the file, read and sent within a second while a
// job of many goes out, signed, as fast as it can, and also while that job's relay makes it wait.
// BenchmarkMailDuringAJob says how long it takes on a machine that a job keeps busy.
func TestACampaignDelaysNobodysMail(t *testing.T) {
	for name, prepare := range map[string]func(h *house){
		"at full speed": func(*house) {},
		"signed": func(h *house) {
			h.dkimKey(core.DKIMRSA, "one")
			h.opts.Signers = worker.NewSigners(h.Store)
		},
		"at a pace": func(h *house) { h.opts.Limits.PerSecond = 20 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &smtptest.Sender{Message: func(*smtp.Envelope) { time.Sleep(200 * time.Millisecond) }}
				h := newHouse(t, s)
				prepare(h)
				h.Readers(h.list, 2000)
				h.start()
				g := worker.NewGroup(h.opts.Log, worker.Mailer(worker.MailerOptions{
					Store: h.Store, Sender: h.route, Sealer: h.opts.Sealer, Ident: h.opts.Ident, PublicURL: "http://news.test",
					From: h.opts.From, Signers: h.opts.Signers, Log: h.opts.Log,
				}))
				g.Start()
				defer g.Drain(time.Minute)
				j := h.job(nil)
				time.Sleep(time.Second)
				for k := range 8 {
					to := core.Email(fmt.Sprintf("one%d@example.net", k))
					_, _, err := h.Subscribe(t.Context(), store.SubscribeRequest{ListID: h.list.ID, Email: to}, core.At(time.Now()))
					h.Must(err)
					time.Sleep(time.Second)
					synctest.Wait()
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
