package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/figurestest"
	"newsletterd/core"
)

// maxListMemory limits the memory of a command or the daemon for a list of any length, in MB.
const maxListMemory = 150

// TestFiguresOfALongList imports a list of NEWSLETTERD_FIGURES subscribers by command, copies it to the send side,
// lists it over HTTP and exports it. It measures the memory of each step.
func TestFiguresOfALongList(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("make bench, make bench-full")
	}
	f := figurestest.New(t)
	f.Build()
	f.Serve()
	f.Stop()
	f.Records()
	f.TokenOf("op@acme.example", core.ScopeListRead+" "+core.ScopeSend)
	f.HTTP.Timeout = 0 // one response with the whole list takes long
	bounded := func(what string, took time.Duration, peak int64) {
		f.Helper()
		f.Line(what, "%d rows, %.0f rows/s, peak RSS %d MB", f.N, float64(f.N)/took.Seconds(), peak>>20)
		if peak>>20 > maxListMemory {
			t.Errorf("%s takes %d MB, more than %d", what, peak>>20, maxListMemory)
		}
	}
	byCommand := func(what string, args ...string) {
		f.Helper()
		c := f.Cmd(args...)
		began := time.Now()
		if out, err := c.CombinedOutput(); err != nil {
			f.Fatalf("%v: %v\n%s", args, err, out)
		}
		var peak int64
		if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
			peak = int64(u.Maxrss) << 10
		}
		bounded(what, time.Since(began), peak)
	}
	byDaemon := func(what string, do func()) {
		f.Helper()
		began := time.Now()
		do()
		took := time.Since(began)
		_, peak := daemontest.Usage(f.PID())
		bounded(what, took, peak)
	}
	byCommand("import by command", "admin", "subscriber", "import", "--list", f.List, "--file", f.CSV("reader", f.N))
	byDaemon("full sync over signed HTTP, the daemon", func() {
		f.Serve()
		f.Every(200*time.Millisecond, func() bool { return f.Number("SELECT count(*) FROM subscriber") == f.N })
	})
	const path = "/api/newsletter/subscriptions?"
	byDaemon("list over HTTP in one answer, the daemon", func() {
		req, err := http.NewRequest(http.MethodGet, f.URL+path+"list_id="+f.List, http.NoBody)
		f.Must(err)
		req.Header.Set("Authorization", "Bearer "+f.Token)
		res, err := f.HTTP.Do(req)
		f.Must(err)
		defer res.Body.Close()
		rows := 0
		for in := bufio.NewReaderSize(res.Body, 1<<20); err != io.EOF; {
			var b []byte
			b, err = in.ReadSlice('}')
			rows += bytes.Count(b, []byte(`"list_id":`))
			if err != nil && err != io.EOF {
				f.Must(err)
			}
		}
		if rows != f.N {
			t.Errorf("%d: %d rows are listed, want %d", res.StatusCode, rows, f.N)
		}
	})

	// Pages of 100 alternate between the first one and one near the end.
	next := func(query string) (cursor string, took time.Duration) {
		began := time.Now()
		r := f.Get(path + query).OK()
		_, rest, _ := strings.Cut(r.Header.Get("Link"), "cursor=")
		return rest[:max(strings.IndexAny(rest, "&>"), 0)], time.Since(began)
	}
	deep, skipped := "", 0
	for skipped = 0; skipped < f.N-2000; skipped += 1000 {
		deep, _ = next("limit=1000&list_id=" + f.List + "&cursor=" + deep)
	}
	var took [2][]time.Duration
	for range 100 {
		for i, cursor := range []string{"", deep} {
			_, d := next("limit=100&list_id=" + f.List + "&cursor=" + cursor)
			took[i] = append(took[i], d)
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	first, last := took[0][50], took[1][50]
	f.Line("page of 100 of the list", "page 1 %v, page %d %v, ratio %.2f (medians)", first, skipped/100, last,
		float64(last)/float64(first))

	countSegments(f)

	out := filepath.Join(f.Dir, "out.csv")
	byCommand("export by command", "admin", "subscriber", "export", "--list", f.List, "--file", out)
	b, err := os.ReadFile(out)
	f.Must(err)
	if n := bytes.Count(b, []byte("\n")) - 1; n != f.N {
		t.Errorf("%d rows are written out, want %d", n, f.N)
	}
	f.Kill()
	file, err := os.Stat(f.Database())
	f.Must(err)
	f.Line("start after kill -9", "%v with a database of %d MB", f.Serve(), file.Size()>>20)
	f.Stop()
}

// countSegments prints how long counts of rules take: estimates, as medians of 20, and exact numbers.
func countSegments(f *figurestest.Figures) {
	f.Helper()
	for _, rule := range []string{
		`{"field": "city", "is": ["Town7"]}`,
		`{"all": [{"field": "first_name", "starts_with": "reader1"}, {"not": {"field": "city", "is": ["Town1", "Town2"]}},
			{"joined": {"within_days": 30}}, {"domain": ["example.org"]}, {"not": {"on_list": "` + f.List + `"}}]}`,
	} {
		var took []time.Duration
		for i := range 21 {
			began := time.Now()
			f.Send(http.MethodPost, "/api/segment-count",
				`{"tenant_id": "`+f.Tenant+`", "list_ids": ["`+f.List+`"], "rule": `+rule+`, "exact": `+
					strconv.FormatBool(i == 0)+`}`).OK()
			took = append(took, time.Since(began))
		}
		exact := took[0]
		took = took[1:]
		slices.Sort(took)
		f.Line("count of a segment", "estimate %v, exact %v: %.60s …", took[10], exact, rule)
	}
}
