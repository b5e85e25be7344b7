package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/figurestest"
)

// TestFigures prints the basic figures of this machine.
func TestFigures(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("make bench")
	}
	f := figurestest.New(t)
	f.Build()

	// Measure 200 small appends, each synced, in the folder of the database.
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

	// Measure the start with a new and an existing file, and the memory of an idle daemon.
	first := f.Serve()
	f.Stop()
	second := f.Serve()
	f.Line("start", "first %v, second %v", first.Round(time.Millisecond), second.Round(time.Millisecond))
	idle(f, "idle")
	f.Stop()

	// Measure a CSV import without a daemon, and then how long the daemon takes to copy the list to the send side.
	f.Records()
	began := time.Now()
	f.Import(f.List, "reader", f.N)
	f.Line("import by command", "%d rows, %.0f rows/s", f.N, float64(f.N)/time.Since(began).Seconds())
	f.Line("full sync over signed HTTP", "%.0f subscribers/s (start of the daemon included)",
		float64(f.N)/f.Sync(f.N).Seconds())
	f.Serve()
	idle(f, fmt.Sprintf("idle, %d subscribers", f.N))
	f.Stop()
}

// idle prints the memory of a daemon that has nothing to do.
func idle(f *figurestest.Figures, name string) {
	wait := figurestest.AtMost(f, 15*time.Second, time.Second)
	if os.Getenv("NEWSLETTERD_FIGURES_IDLE") != "" {
		wait = time.Minute
	}
	<-time.After(wait)
	f.Line(name, "RSS %d kB after %v", daemontest.Resident(f.PID())>>10, wait)
}
