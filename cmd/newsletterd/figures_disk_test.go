package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/figurestest"
	"newsletterd/store/storetest/slowdisk"
)

// TestFiguresOfDisks prints the sending rates for different windows and disks. The database is in memory, where a sync
// takes no time; a process of the test binary delays each sync.
func TestFiguresOfDisks(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("make bench")
	}
	dir, err := os.MkdirTemp("/dev/shm", "newsletterd-figures")
	if err != nil {
		t.Skipf("there is no file system in memory: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	f := figurestest.New(t, dir)
	f.N = min(f.N, 100_000)
	f.Serve()
	f.Stop()
	f.Records()
	f.Import(f.List, "reader", f.N)
	f.Sync(f.N)
	f.Role = "slowdisk"
	for _, delay := range []time.Duration{0, time.Millisecond, 4 * time.Millisecond} {
		var rates []string
		for _, window := range []int{16, 64, 256} {
			f.Serve(fmt.Sprintf("NEWSLETTERD_SEND_MAX_UNRECORDED=%d", window), slowdisk.Env+"="+delay.String())
			start := f.Sink.Stats().Count
			job := f.Mail(f.List)
			f.Every(time.Millisecond, func() bool { return f.Sink.Stats().Count > start })
			// Measure from the first email, for at most two seconds.
			began, first := time.Now(), f.Sink.Stats().Count
			var took time.Duration
			var sent int64
			f.Every(5*time.Millisecond, func() bool {
				sent, took = f.Sink.Stats().Count-first, time.Since(began)
				return took > figurestest.AtMost(f, 2*time.Second, time.Second/4) || first+sent >= start+int64(f.N)
			})
			f.Cancel(job)
			f.Every(5*time.Millisecond, func() bool {
				return f.Number("SELECT count(*) FROM send_job WHERE recipients > sent + failed + skipped OR status IN "+
					"('pending', 'running')") == 0
			})
			f.Stop()
			rates = append(rates, fmt.Sprintf("%d: %.0f", window, float64(sent)/took.Seconds()))
		}
		f.Line(fmt.Sprintf("campaign, a sync of %v", delay), "mails/s by window: %s", strings.Join(rates, ", "))
	}
}
