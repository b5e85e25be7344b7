package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"newsletterd/core"
)

// maxListMemory is what a command or the daemon may hold for a list of any length, in MB.
const maxListMemory = 150

// TestFiguresOfALongList takes a list of NEWSLETTERD_FIGURES subscribers in by the command line, copies it to the send
// side, lists it over HTTP and writes it out again, and watches the memory of each.
func TestFiguresOfALongList(t *testing.T) {
	if os.Getenv(figuresEnv) == "" {
		t.Skip("make bench, make bench-full")
	}
	f := newFigures(t)
	f.build()
	f.serve()
	f.stop()
	f.records()
	f.token = f.command("access_token", "admin", "token", "create", "--user", "op@acme.example", "--scope",
		core.ScopeListRead)
	f.csvOf("people.csv", f.n)
	bounded := func(what string, took time.Duration, peak int64) {
		f.Helper()
		f.line(what, "%d rows, %.0f rows/s, peak RSS %d MB", f.n, float64(f.n)/took.Seconds(), peak>>20)
		if peak>>20 > maxListMemory {
			t.Errorf("%s takes %d MB, more than %d", what, peak>>20, maxListMemory)
		}
	}
	took, peak := f.measured("admin", "subscriber", "import", "--list", f.list, "--file",
		filepath.Join(f.dir, "people.csv"))
	bounded("import by command", took, peak)

	began := time.Now()
	f.serve()
	f.every(200*time.Millisecond, func() bool { return f.count("SELECT count(*) FROM subscriber") == f.n })
	took = time.Since(began)
	_, peak = usage(f.daemon.Process.Pid)
	bounded("full sync over signed HTTP, the daemon", took, peak)

	began = time.Now()
	rows := f.listed()
	took = time.Since(began)
	_, peak = usage(f.daemon.Process.Pid)
	bounded("list over HTTP in one answer, the daemon", took, peak)
	if rows != f.n {
		t.Errorf("%d rows are listed, want %d", rows, f.n)
	}
	f.pages()
	out := filepath.Join(f.dir, "out.csv")
	took, peak = f.measured("admin", "subscriber", "export", "--list", f.list, "--file", out)
	bounded("export by command", took, peak)
	b, err := os.ReadFile(out)
	f.must(err)
	if n := bytes.Count(b, []byte("\n")) - 1; n != f.n {
		t.Errorf("%d rows are written out, want %d", n, f.n)
	}
	f.stop()
}

// csvOf writes a CSV file.
func (f *figures) csvOf(name string, n int) {
	file, err := os.Create(filepath.Join(f.dir, name))
	f.must(err)
	defer file.Close()
	w := bufio.NewWriter(file)
	fmt.Fprintln(w, "email,first_name,city")
	for i := range n {
		fmt.Fprintf(w, "reader%07d@example.org,Reader%d,Town%d\n", i, i, i%100)
	}
	f.must(w.Flush())
}

// measured runs a command and returns how long it took and the most memory that it held.
func (f *figures) measured(args ...string) (took time.Duration, peak int64) {
	f.Helper()
	c := exec.Command(f.program("newsletterd"), args...)
	var said bytes.Buffer
	c.Dir, c.Stderr = f.dir, &said
	began := time.Now()
	if err := c.Run(); err != nil {
		f.Fatalf("%v: %v\n%s", args, err, said.String())
	}
	if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		peak = int64(u.Maxrss) << 10
	}
	return time.Since(began), peak
}

func (f *figures) subscriptionsPage(query string) *http.Response {
	f.Helper()
	req, err := http.NewRequest(http.MethodGet, f.url+"/api/newsletter/subscriptions?"+query, http.NoBody)
	f.must(err)
	req.Header.Set("Authorization", "Bearer "+f.token)
	res, err := (&http.Client{Transport: f.httpClient.Transport}).Do(req)
	f.must(err)
	if res.StatusCode != http.StatusOK {
		f.Fatalf("list: %d", res.StatusCode)
	}
	return res
}

// listed reads the whole list in one answer and counts its rows.
func (f *figures) listed() (rows int) {
	res := f.subscriptionsPage("list_id=" + f.list)
	defer res.Body.Close()
	in := bufio.NewReaderSize(res.Body, 1<<20)
	for {
		b, err := in.ReadSlice('}')
		rows += bytes.Count(b, []byte(`"list_id":`))
		if err == io.EOF {
			break
		}
		f.must(err)
	}
	return rows
}

// pages compares pages of 100, in turns: the first with one near the end.
func (f *figures) pages() {
	next := func(query string) (cursor string, took time.Duration) {
		began := time.Now()
		res := f.subscriptionsPage(query)
		defer res.Body.Close()
		_, err := io.Copy(io.Discard, res.Body)
		f.must(err)
		_, rest, _ := strings.Cut(res.Header.Get("Link"), "cursor=")
		return rest[:max(strings.IndexAny(rest, "&>"), 0)], time.Since(began)
	}
	deep, skipped := "", 0
	for skipped = 0; skipped < f.n-2000; skipped += 1000 {
		deep, _ = next("limit=1000&list_id=" + f.list + "&cursor=" + deep)
	}
	var took [2][]time.Duration
	for range 100 {
		for i, cursor := range []string{"", deep} {
			_, d := next("limit=100&list_id=" + f.list + "&cursor=" + cursor)
			took[i] = append(took[i], d)
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	first, last := took[0][50], took[1][50]
	f.line("page of 100 of the list", "page 1 %v, page %d %v, ratio %.2f (medians)", first, skipped/100, last,
		float64(last)/float64(first))
}
