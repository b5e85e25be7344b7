package worker_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/mailtest"
	"newsletterd/mail/smtp"
	"newsletterd/store"
	"newsletterd/worker"
)

// tracked makes a job that is tracked, with ten links, where TRACK is set.
func tracked(n *core.NewJob) {
	if os.Getenv("TRACK") != "" {
		n.TrackOpen, n.TrackClick = true, true
		for i := range 10 {
			n.BodyHTML = strings.Replace(n.BodyHTML, "that has some length",
				`<a href="https://shop.example/articles/`+strconv.Itoa(i)+`">that has some</a>&#32;length`, 1)
		}
	}
}

// BenchmarkJob mails one job to an in-process sink: for profiles. `make bench` measures the daemon.
func BenchmarkJob(b *testing.B) {
	n, _ := strconv.Atoi(os.Getenv("RECIPIENTS"))
	n = max(n, 1000)
	for range b.N {
		sink := newSink(b, mailtest.SinkOptions{})
		h := newHouse(b, &smtp.Client{Addr: sink.Addr()})
		h.opts.MaxUnrecorded, _ = strconv.Atoi(os.Getenv("WINDOW"))
		h.Readers(h.list, n)
		h.start()
		b.ResetTimer()
		before := h.Stats()
		if name := os.Getenv("PROFILE"); name != "" {
			f, err := os.Create(name)
			h.Must(err)
			h.Must(pprof.StartCPUProfile(f))
			defer pprof.StopCPUProfile()
		}
		began, used := time.Now(), coretest.CPU()
		j := h.wait(h.job(tracked))
		took := time.Since(began)
		if j.Status != core.JobCompleted || j.Sent != int64(n) {
			b.Fatalf("%+v", j)
		}
		b.ReportMetric(float64(n)/took.Seconds(), "mails/s")
		b.ReportMetric(0, "ns/op")
		st := h.Stats()
		b.ReportMetric(float64((coretest.CPU()-used).Microseconds())/float64(n), "cpu-µs/mail")
		b.ReportMetric(float64(n)/float64(st.Batches-before.Batches), "mails/commit")
		b.ReportMetric(float64((st.Busy-before.Busy).Microseconds())/float64(st.Batches-before.Batches), "µs/commit")
		b.ReportMetric(float64(sink.Bytes())/float64(n), "B/mail")
		b.ReportMetric(1000*float64(st.Statements-before.Statements)/float64(n), "statements/1000-mails")
	}
}

// BenchmarkSignedJob says what share of all CPU the RSA signatures are: the rest is what signing by a job costs in
// addition.
func BenchmarkSignedJob(b *testing.B) {
	n, _ := strconv.Atoi(os.Getenv("RECIPIENTS"))
	n = max(n, 1000)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		b.Fatal(err)
	}
	sum := make([]byte, 32)
	used := coretest.CPU()
	for range 500 {
		if _, err := key.Sign(rand.Reader, sum, crypto.SHA256); err != nil {
			b.Fatal(err)
		}
	}
	alone := float64((coretest.CPU() - used).Microseconds()) / 500
	for range b.N {
		sink := newSink(b, mailtest.SinkOptions{})
		h := newHouse(b, &smtp.Client{Addr: sink.Addr()})
		h.dkimKey(core.DKIMRSA, "one")
		h.opts.Signers = worker.NewSigners(h.Store)
		h.Readers(h.list, n)
		h.start()
		began, used := time.Now(), coretest.CPU()
		if j := h.wait(h.job(nil)); j.Sent != int64(n) {
			b.Fatalf("%+v", j)
		}
		each := float64((coretest.CPU() - used).Microseconds()) / float64(n)
		b.ReportMetric(float64(n)/time.Since(began).Seconds(), "mails/s")
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(each, "cpu-µs/mail")
		b.ReportMetric(alone, "rsa-µs")
		b.ReportMetric(alone/each, "rsa-share")
	}
}

// BenchmarkMailDuringAJob says how long a mail to one person takes, of eight the slowest, while a job goes out as fast
// as it can.
func BenchmarkMailDuringAJob(b *testing.B) {
	sink := newSink(b, mailtest.SinkOptions{Records: true})
	h := newHouse(b, &smtp.Client{Addr: sink.Addr()})
	h.Readers(h.list, 100_000)
	h.start()
	g := worker.NewGroup(h.opts.Log, worker.Mailer(worker.MailerOptions{
		Store: h.Store, Sender: h.route, Sealer: h.opts.Sealer, Ident: h.opts.Ident, PublicURL: "http://news.test",
		From: h.opts.From, Log: h.opts.Log,
	}))
	g.Start()
	defer g.Drain(time.Minute)
	j := h.job(nil)
	for sink.Count() < 20 {
		time.Sleep(time.Millisecond)
	}
	for n := 0; b.Loop(); n++ {
		var slowest time.Duration
		for k := range 8 {
			slowest = max(slowest, h.oneMail(sink, fmt.Sprintf("one%d.%d@example.net", n, k)))
		}
		b.ReportMetric(float64(slowest.Milliseconds()), "ms-slowest")
	}
	j, err := h.CancelSendJob(b.Context(), j.ID, core.At(time.Now()))
	h.Must(err)
	b.ReportMetric(float64(j.Sent), "sent-by-the-job")
	b.ReportMetric(0, "ns/op")
}

// oneMail asks for a confirmation and waits until it is there.
func (h *house) oneMail(sink *mailtest.Sink, to string) time.Duration {
	h.Helper()
	began := time.Now()
	_, _, err := h.Subscribe(h.Context(), store.SubscribeRequest{ListID: h.list.ID, Email: core.Email(to)}, core.At(began))
	h.Must(err)
	for deadline := began.Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		for _, r := range sink.Records() {
			if r.Rcpt == to {
				return time.Since(began)
			}
		}
	}
	h.Fatalf("%s got nothing", to)
	return 0
}
