// Package figurestest measures the program for `make bench`.
//
//	figures.go   Figures: the daemon, a sink for its emails, lists of any length
//	sending.go   campaigns: their speed and cost, alone and under other load
//	jobs.go      many jobs and tenants at once
//	requests.go  requests per second, emails to one person, a library of models
package figurestest

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
)

// Env is the environment variable that turns TestFigures on. `make bench` sets it. Its value is the number of
// recipients, at least 1,000. A value that isn't a number means 100,000.
const Env = "NEWSLETTERD_FIGURES"

// briefly is the number of recipients below which a run only checks that every measurement works. Such a run is short;
// its results say nothing about speed.
const briefly = 10_000

// Figures measures the program in separate processes, through its command line and HTTP. Emails go to a sink in another
// process on the same machine.
type Figures struct {
	*daemontest.Process
	N    int // recipients
	Sink *daemontest.Sink

	subscribed int // calls of Subscribe

	metrics string // address of the daemon's metrics, with its profiler
}

// New returns Figures with the database in a folder, by default a temporary one.
func New(t testing.TB, dir ...string) *Figures {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv(Env))
	if err != nil {
		n = 100_000
	}
	f := &Figures{N: max(n, 1000), metrics: cmp.Or(os.Getenv("NEWSLETTERD_FIGURES_PPROF"), daemontest.FreeAddr(t))}
	f.Process = daemontest.NewIn(t, append(dir, t.TempDir())[0], "NEWSLETTERD_METRICS_LISTEN="+f.metrics,
		"NEWSLETTERD_METRICS_PPROF=true", "NEWSLETTERD_BACKUP_EVERY=1h")
	f.Patience += time.Duration(f.N) * time.Millisecond
	f.Sink = f.StartSink(0)
	f.Env = append(f.Env, daemontest.Relay(f.Sink.Addr)...)
	f.calibrate()
	return f
}

// calibrate prints the CPU time of a fixed loop. Divide it by that of another machine to compare their figures.
func (f *Figures) calibrate() {
	const many = 1 << 22
	numbers, random := make([]uint64, many), rand.New(rand.NewPCG(1, 2))
	for i := range numbers {
		numbers[i] = random.Uint64()
	}
	before := daemontest.CPU(os.Getpid())
	slices.Sort(numbers)
	f.Line("calibration", "%v of CPU to sort %d numbers", daemontest.CPU(os.Getpid())-before, many)
}

// AtMost returns part in a brief run, otherwise all.
func AtMost[N ~int | ~int64](f *Figures, all, part N) N {
	if f.N < briefly {
		return part
	}
	return all
}

// CSV writes a file of n people and returns its path.
func (f *Figures) CSV(name string, n int) string {
	file, err := os.Create(filepath.Join(f.Dir, name+".csv"))
	f.Must(err)
	w := bufio.NewWriter(file)
	fmt.Fprintln(w, "email,first_name,city")
	for i := range n {
		fmt.Fprintf(w, "%s%07d@example.org,Reader%d,Town%d\n", name, i, i, i%100)
	}
	f.Must(errors.Join(w.Flush(), file.Close()))
	return file.Name()
}

// Import imports n people into a list on the command line.
func (f *Figures) Import(list, name string, n int) {
	f.Run("admin", "subscriber", "import", "--list", list, "--file", f.CSV(name, n))
}

// Sync starts a daemon and waits until the send side has n people.
func (f *Figures) Sync(n int) time.Duration {
	began := time.Now()
	f.Serve()
	f.Every(200*time.Millisecond, func() bool { return f.Number("SELECT count(*) FROM subscriber") == n })
	took := time.Since(began)
	f.Every(100*time.Millisecond,
		func() bool { return f.Number("SELECT count(*) FROM received_sync WHERE removing = 1") == 0 })
	f.Stop()
	return took
}
