package worker_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/mailtest"
	"newsletterd/mail/smtp"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// tracked makes a job track its ten links if TRACK is set.
func tracked(n *core.NewJob) {
	if os.Getenv("TRACK") != "" {
		n.TrackOpen, n.TrackClick = true, true
		for i := range 10 {
			n.BodyHTML = strings.Replace(n.BodyHTML, "that has some length",
				`<a href="https://shop.example/articles/`+strconv.Itoa(i)+`">that has some</a>&#32;length`, 1)
		}
	}
}

// BenchmarkJob sends one job to a sink in this process, for profiles. `make bench` measures the whole daemon.
func BenchmarkJob(b *testing.B) {
	n, _ := strconv.Atoi(os.Getenv("RECIPIENTS"))
	n = max(n, 1000)
	for range b.N {
		sink := mailtest.StartSink(b, mailtest.SinkOptions{})
		h := workertest.New(b, &smtp.Client{Addr: sink.Addr()})
		h.Opts.MaxUnrecorded, _ = strconv.Atoi(os.Getenv("WINDOW"))
		h.Readers(h.List, n)
		h.Start()
		b.ResetTimer()
		before := h.Stats()
		if name := os.Getenv("PROFILE"); name != "" {
			f, err := os.Create(name)
			h.Must(err)
			h.Must(pprof.StartCPUProfile(f))
			defer pprof.StopCPUProfile()
		}
		began, used := time.Now(), coretest.CPU()
		j := h.Wait(h.Job(tracked))
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

// BenchmarkSignedJob reports what share of the CPU time the RSA signatures take. The rest is the other cost of signing.
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
		sink := mailtest.StartSink(b, mailtest.SinkOptions{})
		h := workertest.New(b, &smtp.Client{Addr: sink.Addr()})
		h.DKIMKey(core.DKIMRSA, "one")
		h.Opts.Signers = worker.NewSigners(h.Store)
		h.Readers(h.List, n)
		h.Start()
		began, used := time.Now(), coretest.CPU()
		if j := h.Wait(h.Job()); j.Sent != int64(n) {
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

// BenchmarkMailDuringAJob measures how long an email to one person takes, the slowest of eight, while a job is sent as
// fast as possible.
func BenchmarkMailDuringAJob(b *testing.B) {
	sink := mailtest.StartSink(b, mailtest.SinkOptions{Records: true})
	h := workertest.New(b, &smtp.Client{Addr: sink.Addr()})
	h.Readers(h.List, 100_000)
	h.Start()
	h.Run(worker.Mailer(h.MailerOptions()))
	j := h.Job()
	for sink.Count() < 20 {
		time.Sleep(time.Millisecond)
	}
	for n := 0; b.Loop(); n++ {
		var slowest time.Duration
		for k := range 8 {
			to, began := fmt.Sprintf("one%d.%d@example.net", n, k), time.Now()
			h.Pending(h.List.ID, core.Email(to))
			for !slices.ContainsFunc(sink.Records(), func(r mailtest.Record) bool { return r.Rcpt == to }) {
				if time.Sleep(2 * time.Millisecond); time.Since(began) > 20*time.Second {
					b.Fatalf("%s got nothing", to)
				}
			}
			slowest = max(slowest, time.Since(began))
		}
		b.ReportMetric(float64(slowest.Milliseconds()), "ms-slowest")
	}
	j, err := h.CancelSendJob(b.Context(), j.ID, core.At(time.Now()))
	h.Must(err)
	b.ReportMetric(float64(j.Sent), "sent-by-the-job")
	b.ReportMetric(0, "ns/op")
}
