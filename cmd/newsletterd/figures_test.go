package main

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
)

// figuresEnv turns TestFigures on: `make bench` sets it. Its value is the number of recipients, at least 1,000; 100,000
// if it is no number.
const figuresEnv = "NEWSLETTERD_FIGURES"

// briefly is the number of recipients below which a run only shows that every figure can be taken: it is short, and
// what it prints says little about speed.
const briefly = 10_000

// figures measures the program itself, as processes of their own, through its command line and HTTP. Mails go to a sink
// in another process on the same machine.
type figures struct {
	*daemontest.Process
	n       int
	sink    *daemontest.Sink
	metrics string // address of the daemon's metrics, with its profiler
}

// newFigures has the database in a folder, or in one that ends with the test.
func newFigures(t *testing.T, dir ...string) *figures {
	n, err := strconv.Atoi(os.Getenv(figuresEnv))
	if err != nil {
		n = 100_000
	}
	f := &figures{n: max(n, 1000), metrics: cmp.Or(os.Getenv("NEWSLETTERD_FIGURES_PPROF"), daemontest.FreeAddr(t))}
	f.Process = daemontest.NewIn(t, append(dir, t.TempDir())[0], "NEWSLETTERD_METRICS_LISTEN="+f.metrics,
		"NEWSLETTERD_METRICS_PPROF=true", "NEWSLETTERD_BACKUP_EVERY=1h")
	f.Patience += time.Duration(f.n) * time.Millisecond
	f.sink = f.StartSink(0)
	f.Env = append(f.Env, daemontest.Relay(f.sink.Addr)...)
	return f
}

// atMost returns how much of something a run takes: all, or in a brief run a part.
func atMost[N ~int | ~int64](f *figures, all, part N) N {
	if f.n < briefly {
		return part
	}
	return all
}

// TestFigures prints the figures of this machine.
func TestFigures(t *testing.T) {
	if os.Getenv(figuresEnv) == "" {
		t.Skip("make bench")
	}
	f := newFigures(t)
	f.Build()

	// 200 small appends that are synced one by one, in the folder of the database
	file, err := os.Create(filepath.Join(f.Dir, "fsync"))
	f.Must(err)
	defer file.Close()
	synced := make([]time.Duration, 200)
	for i := range synced {
		began := time.Now()
		_, err := file.Write(make([]byte, 4096))
		f.Must(err)
		f.Must(syscall.Fdatasync(int(file.Fd())))
		synced[i] = time.Since(began)
	}
	slices.Sort(synced)
	f.Line("machine", "%d CPUs, %s, fsync %v", runtime.NumCPU(), runtime.Version(),
		synced[len(synced)/2].Round(time.Microsecond))

	// the start on a fresh and on a present file, and the memory of a daemon without work
	first := f.Serve()
	f.Stop()
	second := f.Serve()
	f.Line("start", "first %v, second %v", first.Round(time.Millisecond), second.Round(time.Millisecond))
	wait := atMost(f, 5*time.Second, time.Second)
	if os.Getenv("NEWSLETTERD_FIGURES_IDLE") != "" {
		wait = time.Minute
	}
	<-time.After(wait)
	f.Line("idle", "RSS %d kB after %v", daemontest.Resident(f.PID())>>10, wait)
	f.Stop()

	// a CSV import without a daemon, then how long the daemon takes to bring the list to the send side
	f.Records()
	began := time.Now()
	f.importing(f.List, "reader", f.n)
	f.Line("import by command", "%d rows, %.0f rows/s", f.n, float64(f.n)/time.Since(began).Seconds())
	f.Line("full sync over signed HTTP", "%.0f subscribers/s (start of the daemon included)",
		float64(f.n)/f.syncing(f.n).Seconds())
}
