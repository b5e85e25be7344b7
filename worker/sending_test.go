package worker_test

import (
	"fmt"
	"io"
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

// house is a store with a tenant and a list, and what is needed to send to it.
type house struct {
	testing.TB
	*store.Store
	path   string
	tenant core.Tenant
	list   core.List
	group  *worker.Group
	sender *worker.Sender
	opts   worker.SendOptions
	route  smtp.Sender
}

func ptr[T any](v T) *T { return &v }

func newHouse(t testing.TB, route smtp.Sender) *house {
	h := &house{TB: t, path: t.TempDir() + "/newsletterd.db", route: route}
	h.Store = storetest.OpenAt(t, h.path)
	h.furnish()
	return h
}

func (h *house) furnish() {
	var err error
	h.tenant, err = core.NewTenant(core.TenantInput{Name: ptr("Acme")}, 1000)
	h.must(err)
	h.list, err = core.NewList(core.ListInput{TenantID: &h.tenant.ID, Name: ptr("Weekly")}, 1000)
	h.must(err)
	h.must(h.AddTenant(h.Context(), h.tenant, "test"))
	h.must(h.AddList(h.Context(), h.list, "test"))
	h.settings()
}

func (h *house) settings() {
	h.opts = worker.SendOptions{
		From: mail.Address{Email: "news@acme.example"}, PublicURL: "http://news.test",
		Log: slog.New(slog.NewTextHandler(testWriter{h}, nil)),
	}
}

type testWriter struct{ testing.TB }

func (w testWriter) Write(b []byte) (int, error) { w.Logf("%s", b); return len(b), nil }

var _ io.Writer = testWriter{}

func (h *house) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// start runs scheduler and sender until the test ends or stop is called.
func (h *house) start() {
	key, err := h.PurposeKey(h.Context(), store.PurposeMessageID)
	h.must(err)
	h.opts.Ident = mail.NewIdent(key)
	key, err = h.PurposeKey(h.Context(), store.PurposeUnsubscribe)
	h.must(err)
	h.opts.Sealer, err = auth.NewSealer(key)
	h.must(err)
	h.sender = worker.NewSender(h.Store, h.route, h.opts)
	h.group = worker.NewGroup(h.opts.Log, worker.Scheduler(h.Store, h.sender, h.opts.Log), h.sender.Loop())
	h.group.Start()
	h.Cleanup(func() { h.group.Drain(time.Minute) })
}

func (h *house) subscribe(n int) {
	now := core.At(time.Now())
	for i := 0; i < n; i += 1000 {
		f := core.FullSync{
			SyncID: core.NewID(), BatchNo: 1, BatchTotal: 2, TenantID: h.tenant.ID, ListID: h.list.ID,
			OccurredAt: now,
		}
		for k := i; k < min(n, i+1000); k++ {
			f.Subscribers = append(f.Subscribers, core.EventSubscriber{
				ID: core.NewID(), Email: address(k), Status: "active",
				Preferences: core.Preferences(fmt.Sprintf(`{"first_name":"R%d"}`, k)),
			})
		}
		h.must(h.ApplyBatch(h.Context(), store.Nonce{ClientID: "c", Nonce: core.NewID()}, f, now))
	}
}

func address(k int) core.Email { return core.Email(fmt.Sprintf("r%06d@example.org", k)) }

func (h *house) unsubscribe(k int) {
	now := core.At(time.Now())
	e := core.Event{
		ID: core.NewID(), Type: core.EventUnsubscribed, TenantID: h.tenant.ID, ListID: h.list.ID, OccurredAt: now + 1,
		Subscriber: core.EventSubscriber{ID: core.NewID(), Email: address(k), Status: "unsubscribed"},
	}
	h.must(h.ApplyEvent(h.Context(), store.Nonce{ClientID: "c", Nonce: core.NewID()}, e, now))
}

func (h *house) job(change func(*core.NewJob)) core.SendJob {
	n := core.NewJob{ListID: h.list.ID, Subject: "Hello {{preferences.first_name}}", BodyHTML: body7k}
	if change != nil {
		change(&n)
	}
	j, _, err := h.AddSendJob(h.Context(), store.JobRequest{NewJob: n, Caller: core.CommandCaller("u")},
		core.At(time.Now()))
	h.must(err)
	return j
}

// wait returns the job once it has ended and every recipient is settled.
func (h *house) wait(j core.SendJob) core.SendJob {
	h.Helper()
	for deadline := time.After(time.Minute); ; {
		j, err := h.SendJob(h.Context(), j.ID)
		h.must(err)
		if j.Status.Final() && j.Sent+j.Failed+j.Skipped == j.Recipients {
			return j
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			h.Fatalf("the job does not end: %+v", j)
		}
	}
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
	h.subscribe(3000)
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
