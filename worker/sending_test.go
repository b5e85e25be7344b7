package worker_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/mailtest"
	"newsletterd/mail/smtp"
	"newsletterd/store"
	"newsletterd/store/storetest"
	"newsletterd/worker"
)

// house is a store with a list, and what is needed to send to it.
type house struct {
	*storetest.Seeder
	list   core.List
	group  *worker.Group
	sender *worker.Sender
	opts   worker.SendOptions
	route  smtp.Sender
}

func newHouse(t testing.TB, route smtp.Sender) *house {
	return newHouseOn(t, nil, route)
}

// newHouseOn is newHouse with a store that is open, unless it is nil.
func newHouseOn(t testing.TB, st *store.Store, route smtp.Sender) *house {
	s := storetest.Seed(t, st)
	return &house{Seeder: s, list: s.NewList(), route: route, opts: worker.SendOptions{
		From: mail.Address{Email: "news@acme.example"}, PublicURL: "http://news.test",
		Log: slog.New(slog.NewTextHandler(s.Output(), nil)),
	}}
}

// start runs scheduler and sender until the test ends or stop is called.
func (h *house) start() {
	key, err := h.PurposeKey(h.Context(), store.PurposeMessageID)
	h.Must(err)
	h.opts.Ident = mail.NewIdent(key)
	key, err = h.PurposeKey(h.Context(), store.PurposeUnsubscribe)
	h.Must(err)
	h.opts.Sealer, err = auth.NewSealer(key)
	h.Must(err)
	h.sender = worker.NewSender(h.Store, h.route, h.opts)
	h.group = worker.NewGroup(h.opts.Log, worker.Scheduler(h.Store, h.sender, h.opts.Log), h.sender.Loop())
	h.group.Start()
	h.Cleanup(func() { h.group.Drain(time.Minute) })
}

func (h *house) job(change func(*core.NewJob)) core.SendJob {
	n := core.NewJob{ListID: h.list.ID, Subject: "Hello {{preferences.first_name}}", BodyHTML: body7k}
	if change != nil {
		change(&n)
	}
	j, _, err := h.AddSendJob(h.Context(), store.JobRequest{NewJob: n, Caller: core.CommandCaller("u")},
		core.At(time.Now()))
	h.Must(err)
	return j
}

// wait returns the job once it has ended and every recipient is settled; it may take a week in a bubble.
func (h *house) wait(j core.SendJob) core.SendJob {
	h.Helper()
	pause := 20 * time.Millisecond
	for began := time.Now(); time.Since(began) < 7*24*time.Hour; time.Sleep(pause) {
		if j = h.Reload(j); j.Status.Final() && j.Sent+j.Failed+j.Skipped == j.Recipients {
			return j
		}
		pause = min(pause+pause/20, time.Minute)
	}
	h.Fatalf("the job does not end: %+v; %+v", j, h.sender.Figures())
	return j
}

var body7k = func() string {
	s := "<html><body><p>Dear {{preferences.first_name | default: \"friend\"}},</p>\n"
	for i := range 60 {
		s += fmt.Sprintf("<p>Paragraph %d of a letter that has some length, with words in it.</p>\n", i)
	}
	return s + "</body></html>"
}()

func newSink(t testing.TB, o mailtest.SinkOptions) *mailtest.Sink {
	sink, err := mailtest.NewSink("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sink.Close() })
	return sink
}

func TestAJobReachesEverybodyOnce(t *testing.T) {
	sink := newSink(t, mailtest.SinkOptions{Records: true})
	h := newHouse(t, &smtp.Client{Addr: sink.Addr()})
	h.Readers(h.list, 3000)
	h.start()
	began := time.Now()
	j := h.wait(h.job(nil))
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
