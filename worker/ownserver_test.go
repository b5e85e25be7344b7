package worker_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// TestTheOwnServerIsSetWhileItRuns checks that the daemon's own mail server can be set while the daemon runs. From then
// on, emails go through it, with its sender. Server administrators are notified of each change through the previous
// server.
func TestTheOwnServerIsSetWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder, one, two := &smtptest.Sender{}, &smtptest.Sender{}, &smtptest.Sender{}
		var mu sync.Mutex
		var senders, notices []string
		for name, s := range map[string]*smtptest.Sender{"folder": folder, "one": one, "two": two} {
			s.Message = func(e *smtp.Envelope) {
				mu.Lock()
				defer mu.Unlock()
				senders = append(senders, e.From)
				if e.To == "op@example.org" {
					notices = append(notices, name)
				}
			}
			s.Refuse = func(e *smtp.Envelope) *smtp.RelayError { // like providers that don't know a sender
				if name != "folder" && e.From != "news@"+name+".example.org" {
					return &smtp.RelayError{Fault: smtp.FaultRefused, Stage: "MAIL", Code: 553}
				}
				return nil
			}
		}
		by := &relays{by: map[string]*smtptest.Sender{"one.example.org": one, "two.example.org": two}}
		h := workertest.New(t, folder)
		h.Opts.Folder, h.Opts.Own = true, worker.NewOwnServer(h.Store, by.sender)
		h.Readers(h.List, 20)
		op := core.NewUser("op@example.org", h.Time())
		op.EmailVerified, op.Roles = true, []core.Role{{Role: core.RoleOperator}}
		h.Must(h.AddUser(h.Context(), op, "", h.Time()))
		h.Start()
		opts := h.MailerOptions()
		opts.Own, opts.From = h.Opts.Own, mail.Address{Email: "folder@example.org"}
		h.Run(worker.Mailer(opts))
		// The emails about a change can be read before the mailer learns that records have changed.
		h.Store.OnKick(db.TopicMail, func() { time.Sleep(10 * time.Millisecond) })
		sends := func(by *smtptest.Sender, transport string) {
			t.Helper()
			before := by.Sum()
			j := h.Wait(h.Job())
			h.AddsUp(j, 20, 0, 0)
			if j.Transport != transport || by.Sum() != before+20 {
				t.Errorf("transport %q, want %q; %d mails", j.Transport, transport, by.Sum()-before)
			}
		}
		set := func(host string) {
			t.Helper()
			m := core.MailServer{
				Relay: core.Relay{Host: host, Username: "u", Password: "p", Limits: core.SendLimits{PerSecond: 1}},
				From:  core.Email("news@" + host),
			}
			if err := m.Check(&core.MailServer{}); err != nil {
				t.Fatal(err)
			}
			if err := h.Store.SetMailServer(t.Context(), &m, "", "test", core.At(time.Now())); err != nil {
				t.Fatal(err)
			}
			coretest.Settle(15 * time.Second)
		}
		sends(folder, core.TransportFolder)
		set("one.example.org")
		sends(one, "")
		h.Pending(h.List.ID, storetest.Reader(5000))
		coretest.Settle(15 * time.Second)
		during := h.Job() // continues through the second server with its sender; the first server refuses that sender
		coretest.Settle(5 * time.Second)
		set("two.example.org")
		h.AddsUp(h.Wait(during), 20, 0, 0)
		if n := two.Sum(); n < 10 || n >= 20 {
			t.Errorf("%d of the job that ran went through the second server", n)
		}
		sends(two, "")
		during = h.Job() // a job that continues in the folder reports that
		coretest.Settle(5 * time.Second)
		if err := h.Store.RemoveMailServer(t.Context(), "", "test", core.At(time.Now())); err != nil {
			t.Fatal(err)
		}
		coretest.Settle(15 * time.Second)
		if j := h.Wait(during); j.Transport != core.TransportPartly {
			t.Errorf("transport %q of a job during which the server was removed", j.Transport)
		}
		sends(folder, core.TransportFolder)
		mu.Lock()
		defer mu.Unlock()
		if got := strings.Join(notices, " "); got != "one one two" {
			t.Errorf("told through %q", got)
		}
		if last := senders[len(senders)-1]; !strings.Contains(strings.Join(senders, " "), "news@one.example.org") {
			t.Errorf("senders %v", last)
		}
		if n := one.Sum(); n <= 20+1+1+1 || n >= 20+20 {
			t.Errorf("%d by the first server, want a whole job, a part of another, a confirmation, and two notices", n)
		}
	})
}
