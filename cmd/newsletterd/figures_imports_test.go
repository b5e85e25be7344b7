package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/figurestest"
	"newsletterd/core"
)

// maxImportMemory is how much more memory the daemon may use for an import than when idle, in MiB.
const maxImportMemory = 64

// TestFiguresOfImports imports NEWSLETTERD_FIGURES lines by command and by upload, while others send requests. It
// prints the rate, the cost per line, and how long the others wait.
func TestFiguresOfImports(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("make bench, make bench-full")
	}
	f := figurestest.New(t)
	f.Build()
	f.Serve()
	f.Stop()
	f.Records()
	f.TokenOf("op@acme.example", core.ScopeAdmin+" "+core.ScopeListRead)
	file := f.CSV("reader", f.N)
	f.Serve()
	<-time.After(figurestest.AtMost(f, 5*time.Second, time.Second/2))
	idle := daemontest.Resident(f.PID())
	in, err := os.Open(file)
	f.Must(err)
	defer in.Close()
	var j core.ImportJob
	from, uploading := daemontest.CPU(f.PID()), time.Now()
	f.HTTP.Timeout = 0
	f.Send("POST", "/api/admin/imports?list_id="+f.List, in, "Content-Type", "text/csv").OK().JSON(&j)
	uploaded := time.Since(uploading)
	others := askMeanwhile(f, 20*time.Millisecond)
	began := time.Now()
	f.Send("POST", "/api/admin/imports/"+j.ID+"/run", nil).OK()
	f.Every(20*time.Millisecond, func() bool {
		f.Must(json.Unmarshal([]byte(f.Get("/api/admin/imports/"+j.ID).OK().Text), &j))
		return j.Ended()
	})
	took := time.Since(began)
	cpu, peak := daemontest.Usage(f.PID())
	waited := others()
	if j.Added != int64(f.N) {
		t.Errorf("%+v", j)
	}
	f.Line("import over HTTP", "%d rows, %.0f rows/s, %.1f µs of CPU a row (other requests included), peak RSS %d MB "+
		"above idle; uploaded in %v", f.N, float64(f.N)/took.Seconds(), perRow(cpu-from, f.N), (peak-idle)>>20,
		uploaded.Round(time.Millisecond))
	for _, w := range waited {
		f.Line("meanwhile "+w.what, "%d, p50 %v, p99 %v, slowest %v", len(w.took), w.took[len(w.took)/2],
			w.took[len(w.took)*99/100], w.took[len(w.took)-1])
	}
	if (peak-idle)>>20 > maxImportMemory {
		t.Errorf("it takes %d MB more, over %d", (peak-idle)>>20, maxImportMemory)
	}
	f.Stop()

	f.List = f.Field("id", "admin", "list", "create", "--tenant", f.Tenant, "--name", "By command")
	c := f.Cmd("admin", "subscriber", "import", "--list", f.List, "--file", file)
	began = time.Now()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	took, cpu = time.Since(began), c.ProcessState.UserTime()+c.ProcessState.SystemTime()
	if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		peak = int64(u.Maxrss) << 10
	}
	f.Line("import by command", "%d rows, %.0f rows/s, %.1f µs of CPU a row, peak RSS %d MB", f.N,
		float64(f.N)/took.Seconds(), perRow(cpu, f.N), peak>>20)
}

func perRow(cpu time.Duration, n int) float64 { return float64(cpu.Nanoseconds()) / 1000 / float64(n) }

// waiting holds the sorted durations of one kind of request.
type waiting struct {
	what string
	took []time.Duration
}

// askMeanwhile sends a request of each kind at an interval until stop is called.
func askMeanwhile(f *figurestest.Figures, every time.Duration) (stop func() []waiting) {
	quit, done := make(chan struct{}), make(chan waiting)
	kinds := []func(i int) (what, method, path string, body any){
		func(int) (string, string, string, any) { return "health check", "GET", "/healthz", nil },
		func(i int) (string, string, string, any) {
			one := map[string]string{"list_id": f.List, "email": fmt.Sprintf("other%d@example.net", i)}
			return "subscribe", "POST", "/api/newsletter/subscribe", one
		},
		func(int) (string, string, string, any) {
			return "page of 100", "GET", "/api/newsletter/subscriptions?limit=100&list_id=" + f.List, nil
		},
	}
	for _, kind := range kinds {
		go func() {
			tick := time.NewTicker(every)
			defer tick.Stop()
			var a waiting
			for i := 0; ; i++ {
				what, method, path, body := kind(i)
				began := time.Now()
				if r, err := f.Try(method, path, body); err != nil || r.StatusCode != http.StatusOK {
					f.Errorf("%s: %v %s", what, err, r.Text)
				}
				a.what, a.took = what, append(a.took, time.Since(began))
				select {
				case <-quit:
					slices.Sort(a.took)
					done <- a
					return
				case <-tick.C:
				}
			}
		}()
	}
	return func() (all []waiting) {
		close(quit)
		for range kinds {
			all = append(all, <-done)
		}
		slices.SortFunc(all, func(a, b waiting) int { return len(a.what) - len(b.what) })
		return all
	}
}
