package worker_test

import (
	"os"
	"runtime/pprof"
	"strconv"
	"syscall"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/mailtest"
)

// cpu is the time that this process has computed.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkJob mails one job to an in-process sink: for profiles. `make bench` measures the daemon.
func BenchmarkJob(b *testing.B) {
	n, _ := strconv.Atoi(os.Getenv("RECIPIENTS"))
	n = max(n, 1000)
	for range b.N {
		sink := newSink(b, mailtest.SinkOptions{})
		h := newHouse(b, &mail.SMTP{Addr: sink.Addr()})
		h.opts.MaxUnrecorded, _ = strconv.Atoi(os.Getenv("WINDOW"))
		h.subscribe(n)
		h.start()
		b.ResetTimer()
		before := h.Stats()
		if name := os.Getenv("PROFILE"); name != "" {
			f, err := os.Create(name)
			h.must(err)
			h.must(pprof.StartCPUProfile(f))
			defer pprof.StopCPUProfile()
		}
		began, used := time.Now(), cpu()
		j := h.wait(h.job(nil))
		took := time.Since(began)
		if j.Status != core.JobCompleted || j.Sent != int64(n) {
			b.Fatalf("%+v", j)
		}
		b.ReportMetric(float64(n)/took.Seconds(), "mails/s")
		b.ReportMetric(0, "ns/op")
		st := h.Stats()
		b.ReportMetric(float64((cpu()-used).Microseconds())/float64(n), "cpu-µs/mail")
		b.ReportMetric(float64(n)/float64(st.Batches-before.Batches), "mails/commit")
		b.ReportMetric(float64((st.Busy-before.Busy).Microseconds())/float64(st.Batches-before.Batches), "µs/commit")
		b.ReportMetric(float64(sink.Bytes())/float64(n), "B/mail")
	}
}
