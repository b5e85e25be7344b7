package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"newsletterd/mail/mailtest"
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
	*testing.T
	dir        string
	exe        string // the test binary, which is the sink too
	built      string // the program itself; empty: the test binary stands in for it
	role       string // of the test binary when it stands in; empty: newsletterd
	n          int
	sink       *sinkProcess
	daemon     *exec.Cmd
	out        bytes.Buffer
	url        string
	metrics    string // address of the daemon's metrics, with its profiler
	token      string
	list       string
	tenant     string
	httpClient *http.Client
}

// sinkDelayEnv is how long a sink waits before it replies.
const sinkDelayEnv = "NEWSLETTERD_FIGURES_SINK_DELAY"

// sinkWatch ends the addresses of whom a sink keeps when their mails came.
const sinkWatch = "@one.example"

// runSink is the child process that `sink` of the test binary is.
func runSink() {
	delay, _ := time.ParseDuration(os.Getenv(sinkDelayEnv))
	s, err := mailtest.NewSink("127.0.0.1:0", mailtest.SinkOptions{Delay: delay, Watch: sinkWatch})
	if err == nil {
		err = s.Control(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type sinkProcess struct {
	addr string
	in   io.Writer
	out  *bufio.Reader
	pid  int
}

// startSink starts one that replies after a delay.
func (f *figures) startSink(delay time.Duration) *sinkProcess {
	c := exec.Command(f.program("sink"))
	c.Env = append(os.Environ(), sinkDelayEnv+"="+delay.String())
	in, err := c.StdinPipe()
	f.must(err)
	out, err := c.StdoutPipe()
	f.must(err)
	f.must(c.Start())
	f.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	f.must(err)
	return &sinkProcess{strings.TrimSpace(line), in, r, c.Process.Pid}
}

// stats are what the sink has accepted so far.
func (s *sinkProcess) stats() (st struct{ Count, Bytes, Last int64 }) {
	fmt.Fprintln(s.in, "stats")
	line, _ := s.out.ReadBytes('\n')
	_ = json.Unmarshal(line, &st)
	return st
}

func (f *figures) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatalf("%v\n%s", err, f.out.String())
	}
}

// build builds the program: the test binary is larger, and so is what it holds in memory.
func (f *figures) build() {
	f.built = filepath.Join(f.dir, "built")
	out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", f.built, ".").CombinedOutput()
	if err != nil {
		f.Fatalf("%v\n%s", err, out)
	}
}

// program links the test binary under a name that TestMain knows.
func (f *figures) program(name string) string {
	if name == "newsletterd" && f.built != "" {
		return f.built
	}
	if name == "newsletterd" && f.role != "" {
		name = f.role
	}
	path := filepath.Join(f.dir, name)
	if err := os.Symlink(f.exe, path); err != nil && !os.IsExist(err) {
		f.Fatal(err)
	}
	return path
}

// line prints one figure.
func (f *figures) line(name, format string, args ...any) {
	fmt.Printf("%-44s %s\n", name, fmt.Sprintf(format, args...))
}

// command runs the command line and returns a field of its JSON answer; an empty field returns nothing.
func (f *figures) command(field string, args ...string) string {
	f.Helper()
	c := exec.Command(f.program("newsletterd"), append(args, "--json")...)
	var said bytes.Buffer // of its own: a daemon may be writing to f.out
	c.Dir, c.Stderr = f.dir, &said
	b, err := c.Output()
	if err != nil {
		f.Fatalf("%v: %v\n%s", args, err, said.String())
	}
	if field == "" {
		return ""
	}
	var m map[string]any
	f.must(json.Unmarshal(b, &m))
	text, ok := m[field].(string)
	if !ok {
		f.Fatalf("%v: no %s in %s", args, field, b)
	}
	return text
}

// serve starts the daemon and returns how long it took until it was healthy.
func (f *figures) serve(env ...string) time.Duration {
	f.Helper()
	f.out.Reset()
	began := time.Now()
	f.daemon = exec.Command(f.program("newsletterd"), "serve")
	f.daemon.Dir, f.daemon.Stdout, f.daemon.Stderr = f.dir, &f.out, &f.out
	f.daemon.Env = append(os.Environ(), env...)
	f.must(f.daemon.Start())
	pid := f.daemon.Process.Pid
	f.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for ; time.Since(began) < 30*time.Second; <-tick.C {
		res, err := f.httpClient.Get(f.url + "/healthz")
		if err != nil {
			continue
		}
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return time.Since(began)
		}
	}
	f.Fatalf("the daemon does not become healthy\n%s", f.out.String())
	return 0
}

func (f *figures) stop() {
	f.Helper()
	f.must(f.daemon.Process.Signal(syscall.SIGTERM))
	f.must(f.daemon.Wait())
}

// post sends JSON with the operator's token and returns a field of the answer.
func (f *figures) post(path string, body any, field string) string {
	f.Helper()
	b, err := json.Marshal(body)
	f.must(err)
	req, err := http.NewRequest(http.MethodPost, f.url+path, bytes.NewReader(b))
	f.must(err)
	return f.do(req, field)
}

func (f *figures) get(path, field string) string {
	f.Helper()
	req, err := http.NewRequest(http.MethodGet, f.url+path, http.NoBody)
	f.must(err)
	return f.do(req, field)
}

func (f *figures) do(req *http.Request, field string) string {
	f.Helper()
	req.Header.Set("Authorization", "Bearer "+f.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := f.httpClient.Do(req)
	f.must(err)
	defer res.Body.Close()
	var m map[string]any
	f.must(json.NewDecoder(res.Body).Decode(&m))
	if res.StatusCode >= 300 {
		f.Fatalf("%s %s: %d %v", req.Method, req.URL, res.StatusCode, m)
	}
	return fmt.Sprint(m[field])
}

// usage is what a process has computed, and the most memory that it has held since the last call.
func usage(pid int) (cpu time.Duration, peak int64) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if kib, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			peak, _ = strconv.ParseInt(strings.Fields(kib)[0], 10, 64)
		}
	}
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
	return time.Duration(user+system) * 10 * time.Millisecond, peak << 10
}

// fsyncTime is the median of 200 small appends that are synced one by one, in the folder of the database.
func (f *figures) fsyncTime() time.Duration {
	file, err := os.Create(filepath.Join(f.dir, "fsync"))
	f.must(err)
	defer file.Close()
	took := make([]time.Duration, 200)
	for i := range took {
		began := time.Now()
		_, err := file.Write(make([]byte, 4096))
		f.must(err)
		f.must(syscall.Fdatasync(int(file.Fd())))
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took[len(took)/2]
}

func newFigures(t *testing.T) *figures { return newFiguresIn(t, t.TempDir()) }

// newFiguresIn has the database in a folder.
func newFiguresIn(t *testing.T, dir string) *figures {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(os.Getenv(figuresEnv))
	if err != nil {
		n = 100_000
	}
	n = max(n, 1000)
	f := &figures{
		T: t, dir: dir, exe: exe, n: n, url: "http://" + freeAddr(t),
		metrics: cmp.Or(os.Getenv("NEWSLETTERD_FIGURES_PPROF"), freeAddr(t)),
	}
	f.httpClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}, Timeout: time.Minute}
	f.sink = f.startSink(0)
	host, port, _ := strings.Cut(f.sink.addr, ":")
	f.must(os.WriteFile(filepath.Join(f.dir, "newsletterd.toml"), fmt.Appendf(nil, `
[server]
listen = %q
[mail]
transport = "smtp"
[mail.smtp]
host = %q
port = %s
tls = "none"
[log]
level = "warn"
[metrics]
listen = %q
pprof = true
`, strings.TrimPrefix(f.url, "http://"), host, port, f.metrics), 0o600))
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
	f.build()
	f.line("machine", "%d CPUs, %s, fsync %v", runtime.NumCPU(), runtime.Version(), f.fsyncTime().Round(time.Microsecond))
	f.idle()
	f.records()
	f.arriving()
}

// TestFiguresOfSubscribing prints what double opt-in costs, and what bare inserts cost in the same run.
func TestFiguresOfSubscribing(t *testing.T) {
	if os.Getenv(figuresEnv) == "" {
		t.Skip("make bench")
	}
	f := newFigures(t)
	f.build()
	f.serve()
	f.stop()
	f.records()
	f.subscribing()
}
