package workertest

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/dkim"
	"newsletterd/mail/smtp"
	"newsletterd/store"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
	"newsletterd/worker"
)

// A Harness is a store with a list, and everything needed to send to the list. Its fields may be changed before a loop
// starts.
type Harness struct {
	*storetest.Seeder
	List   core.List
	Relay  smtp.Sender // the daemon's relay
	Opts   worker.SendOptions
	Sender *worker.Sender // set by Start
	Group  *worker.Group  // the loops started last
}

// New returns a harness with a new store.
func New(t testing.TB, relay smtp.Sender) *Harness {
	t.Helper()
	return NewOn(t, nil, relay)
}

// NewOn is like New, but uses the open store st if it isn't nil.
func NewOn(t testing.TB, st *store.Store, relay smtp.Sender) *Harness {
	t.Helper()
	s := storetest.Seed(t, st)
	h := &Harness{Seeder: s, List: s.NewList(), Relay: relay, Opts: worker.SendOptions{
		From: mail.Address{Email: "news@acme.example"}, PublicURL: "http://news.test",
		Log: slog.New(slog.NewTextHandler(s.Output(), nil)),
	}}
	key, err := h.PurposeKey(h.Context(), db.PurposeMessageID)
	h.Must(err)
	h.Opts.Ident = mail.NewIdent(key)
	key, err = h.PurposeKey(h.Context(), db.PurposeUnsubscribe)
	h.Must(err)
	h.Opts.Sealer, err = auth.NewSealer(key)
	h.Must(err)
	return h
}

// Neighbor returns a harness for the same store with a second tenant, whose list has n subscribers.
func (h *Harness) Neighbor(n int) *Harness {
	h.Helper()
	o := *h
	o.Seeder = storetest.Seed(h.TB, h.Store)
	o.List = o.NewList()
	o.Readers(o.List, n)
	return &o
}

// Start runs scheduler and sender until the test ends or the group is drained.
func (h *Harness) Start() {
	h.Helper()
	h.Sender = worker.NewSender(h.Store, h.Relay, h.Opts)
	h.Run(worker.Scheduler(h.Store, h.Sender, h.Opts.Log), h.Sender.Loop())
}

// Run runs loops until the test ends or the group is drained.
func (h *Harness) Run(loops ...*worker.Loop) {
	g := worker.NewGroup(h.Opts.Log, loops...)
	h.Group = g
	g.Start()
	h.Cleanup(func() { g.Drain(time.Minute) })
}

// MailerOptions returns the options of a mailer that sends through the daemon's relay.
func (h *Harness) MailerOptions() worker.MailerOptions {
	return worker.MailerOptions{
		Store: h.Store, Sender: h.Relay, Sealer: h.Opts.Sealer, Ident: h.Opts.Ident, PublicURL: h.Opts.PublicURL,
		From: h.Opts.From, Signers: h.Opts.Signers, Log: h.Opts.Log,
	}
}

// Mailer returns a mailer loop with MailerOptions.
func (h *Harness) Mailer() *worker.Loop { return worker.Mailer(h.MailerOptions()) }

// DKIMKey gives the tenant the domain acme.example, a sender in it, and a key that signs its emails.
func (h *Harness) DKIMKey(algorithm, selector string) core.DKIMKey {
	h.Helper()
	h.ChangeTenant(h.List.TenantID, core.TenantInput{
		Domains: &[]string{"acme.example"}, MailFrom: new("letters@acme.example"),
	})
	parts, err := rsaKey()
	private, public := []byte(parts[0]), parts[1]
	if algorithm != core.DKIMRSA {
		private, public, err = dkim.NewKey(algorithm)
	}
	h.Must(err)
	k := core.DKIMKey{
		ID: core.NewID(), TenantID: h.List.TenantID, Domain: "acme.example", Selector: selector, Algorithm: algorithm,
		Status: core.DKIMActive, Public: public, CreatedAt: core.At(time.Now()),
	}
	h.Must(h.AddDKIMKey(h.Context(), k, private, "test"))
	return k
}

// rsaKey returns the private and public parts of an RSA key that all tests share, because generating one takes a
// quarter of a second.
var rsaKey = sync.OnceValues(func() (parts [2]string, err error) {
	private, public, err := dkim.NewKey(core.DKIMRSA)
	return [2]string{string(private), public}, err
})

// Job creates a send job to the list. Unless changed, it is due immediately and has a body of 7 KB.
func (h *Harness) Job(change ...func(*core.NewJob)) core.SendJob {
	h.Helper()
	return h.NewJob(h.List.ID, func(r *campaigns.JobRequest) {
		r.NewJob = core.NewJob{ListID: h.List.ID, Subject: "Hello {{preferences.first_name}}", BodyHTML: body7k}
		for _, f := range change {
			f(&r.NewJob)
		}
	})
}

// Wait waits until a job has ended and every recipient is settled, and returns the job. In a bubble this may take a
// week.
func (h *Harness) Wait(j core.SendJob) core.SendJob {
	h.Helper()
	pause := 20 * time.Millisecond
	for began := time.Now(); time.Since(began) < 7*24*time.Hour; time.Sleep(pause) {
		if j = h.Reload(j); j.Status.Final() && j.Sent+j.Failed+j.Skipped == j.Recipients {
			return j
		}
		pause = min(pause+pause/20, time.Minute)
	}
	h.Fatalf("the job does not end: %+v; %+v", j, h.Sender.Figures())
	return j
}

// Resume resumes a job and returns it when it has ended.
func (h *Harness) Resume(j core.SendJob) core.SendJob {
	h.Helper()
	_, err := h.ResumeSendJob(h.Context(), j.ID, "test", core.At(time.Now()))
	h.Must(err)
	time.Sleep(time.Hour)
	return h.Wait(j)
}

// Paused waits for a minute, checks that the job is paused for a reason with the given prefix, and returns the job.
func (h *Harness) Paused(j core.SendJob, reason string) core.SendJob {
	h.Helper()
	time.Sleep(time.Minute)
	synctest.Wait()
	j = h.Reload(j)
	if j.Status != core.JobRunning || !strings.HasPrefix(j.PauseReason, reason) || j.Sent+j.Failed >= j.Recipients {
		h.Errorf("%s, paused %q at %d of %d; want %q", j.Status, j.PauseReason, j.Sent+j.Failed, j.Recipients, reason)
	}
	return j
}

// AddsUp checks the numbers of a job's recipients by outcome, and that they add up to the total.
func (h *Harness) AddsUp(j core.SendJob, sent, failed, skipped int64) {
	h.Helper()
	if j.Sent != sent || j.Failed != failed || j.Skipped != skipped || j.Recipients != sent+failed+skipped {
		h.Errorf("sent %d, failed %d, skipped %d of %d; want %d, %d, %d", j.Sent, j.Failed, j.Skipped, j.Recipients,
			sent,
			failed, skipped)
	}
}

var body7k = func() string {
	s := "<html><body><p>Dear {{preferences.first_name | default: \"friend\"}},</p>\n"
	for i := range 60 {
		s += fmt.Sprintf("<p>Paragraph %d of a letter that has some length, with words in it.</p>\n", i)
	}
	return s + "</body></html>"
}()
