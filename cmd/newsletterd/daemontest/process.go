package daemontest

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"newsletterd/handlers/web/webtest"
	"newsletterd/store"
	"newsletterd/store/db"
)

// Process runs the program with its own folder and address. Its client talks to the daemon.
type Process struct {
	webtest.Client
	Dir      string
	Env      []string      // settings of the daemon and of commands
	Built    string        // the built program to start; empty: the test binary
	Role     string        // role of the test binary if it isn't newsletterd, see TestMain
	Patience time.Duration // timeout of Every
	Daemon   *exec.Cmd     // the last daemon that was started
	Out      bytes.Buffer  // output of that daemon

	Tenant, List string // created by Records

	exe string
}

// New returns a process in a new folder. It isn't started, and it sends no emails. Settings are environment variables,
// such as NEWSLETTERD_SEND_MAX_UNRECORDED=64.
func New(t testing.TB, settings ...string) *Process {
	t.Helper()
	return NewIn(t, t.TempDir(), settings...)
}

// NewIn is like New, but uses an existing folder.
func NewIn(t testing.TB, dir string, settings ...string) *Process {
	t.Helper()
	addr := FreeAddr(t)
	p := &Process{Dir: dir, Env: settings, Patience: 5 * time.Minute}
	// Idle connections are closed before the daemon closes them, so no request meets a connection that is being closed.
	p.Client = webtest.Client{TB: t, URL: "http://" + addr, HTTP: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 256, IdleConnTimeout: 30 * time.Second}, Timeout: time.Minute,
	}}
	var err error
	p.exe, err = os.Executable()
	p.Must(err)
	p.Must(os.WriteFile(filepath.Join(dir, "newsletterd.toml"), fmt.Appendf(nil,
		"[server]\nlisten = %q\n[log]\nlevel = \"warn\"\n[metrics]\nlisten = \"\"\n[backup]\nevery = \"0\"\n", addr),
		0o600))
	return p
}

// Relay returns the settings for sending through an SMTP server without TLS.
func Relay(addr string) []string {
	host, port, _ := net.SplitHostPort(addr)
	return []string{
		"NEWSLETTERD_MAIL_TRANSPORT=smtp", "NEWSLETTERD_MAIL_SMTP_HOST=" + host, "NEWSLETTERD_MAIL_SMTP_PORT=" + port,
		"NEWSLETTERD_MAIL_SMTP_TLS=none",
	}
}

// Must ends the test on an error, and shows the daemon's output.
func (p *Process) Must(err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("%v\n%s", err, p.Out.String())
	}
}

// Line prints one measurement.
func (p *Process) Line(name, format string, args ...any) {
	fmt.Printf("%-44s %s\n", name, fmt.Sprintf(format, args...))
}

// Build builds the program, because the test binary is larger and uses more memory.
func (p *Process) Build() {
	p.Built = filepath.Join(p.Dir, "built")
	out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", p.Built, ".").CombinedOutput()
	if err != nil {
		p.Fatalf("%v\n%s", err, out)
	}
}

// Program returns the path of a program in the folder: the built program, or the test binary under a name that TestMain
// recognizes.
func (p *Process) Program(name string) string {
	if name == "newsletterd" && p.Built != "" {
		return p.Built
	}
	if name == "newsletterd" && p.Role != "" {
		name = p.Role
	}
	path := filepath.Join(p.Dir, name)
	if err := os.Symlink(p.exe, path); err != nil && !os.IsExist(err) {
		p.Fatal(err)
	}
	return path
}

// noDNS is an address where no program listens. It is set as the DNS server, so that no test queries the machine's name
// servers.
const noDNS = "127.0.0.1:9"

// Cmd returns a command of the program without starting it.
func (p *Process) Cmd(args ...string) *exec.Cmd {
	c := exec.Command(p.Program("newsletterd"), args...)
	c.Dir, c.Env = p.Dir, append(append(os.Environ(), "NEWSLETTERD_MAIL_DNS_SERVER="+noDNS), p.Env...)
	return c
}

// Run runs a command and returns its output. It ends the test if the command fails.
func (p *Process) Run(args ...string) []byte {
	p.Helper()
	var said bytes.Buffer // not p.Out, because a daemon may be writing to that
	c := p.Cmd(args...)
	c.Stderr = &said
	b, err := c.Output()
	if err != nil {
		p.Fatalf("%v: %v\n%s", args, err, said.String())
	}
	return b
}

// Record runs a command and returns the JSON object that it prints.
func (p *Process) Record(args ...string) (object map[string]any) {
	p.Helper()
	p.Must(json.Unmarshal(p.Run(append(args, "--json")...), &object))
	return object
}

// Field runs a command and returns a string from the JSON object that it prints.
func (p *Process) Field(name string, args ...string) string {
	p.Helper()
	object := p.Record(args...)
	text, ok := object[name].(string)
	if !ok {
		p.Fatalf("%v: no %s in %v", args, name, object)
	}
	return text
}

// Start starts the daemon with additional settings and does not wait until it is ready.
func (p *Process) Start(settings ...string) {
	p.Helper()
	p.Out.Reset()
	c := p.Cmd("serve")
	c.Env = append(c.Env, settings...)
	c.Stdout, c.Stderr = &p.Out, &p.Out
	p.Must(c.Start())
	p.Cleanup(func() { _ = c.Process.Kill() })
	p.Daemon = c
}

// Serve starts the daemon and returns how long it took to become healthy.
func (p *Process) Serve(settings ...string) time.Duration {
	p.Helper()
	began := time.Now()
	p.Start(settings...)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for ; time.Since(began) < 30*time.Second; <-tick.C {
		if r, err := p.Try(http.MethodGet, "/healthz", nil); err == nil && r.StatusCode == http.StatusOK {
			return time.Since(began)
		}
	}
	p.Fatalf("the daemon does not become healthy\n%s", p.Out.String())
	return 0
}

// PID returns the ID of the daemon's process.
func (p *Process) PID() int { return p.Daemon.Process.Pid }

// Stop ends the daemon with SIGTERM and waits for it.
func (p *Process) Stop() {
	p.Helper()
	p.Must(p.Daemon.Process.Signal(syscall.SIGTERM))
	p.Must(p.Daemon.Wait())
}

// Kill ends the daemon with SIGKILL and waits for it.
func (p *Process) Kill() {
	p.Helper()
	p.Must(p.Daemon.Process.Kill())
	_ = p.Daemon.Wait()
}

// Database returns the path of the database.
func (p *Process) Database() string { return filepath.Join(p.Dir, "newsletterd.db") }

// LoseDisk removes all of the daemon's files except its configuration, as on a new machine.
func (p *Process) LoseDisk() {
	p.Helper()
	all, err := filepath.Glob(p.Database() + "*")
	p.Must(err)
	for _, file := range all {
		p.Must(os.RemoveAll(file))
	}
}

// LeftNothing checks that a stopped daemon has left only its database file.
func (p *Process) LeftNothing() {
	p.Helper()
	for _, end := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(p.Database() + end); !os.IsNotExist(err) {
			p.Errorf("%s is left: %v", end, err)
		}
	}
}

// Open opens the database while the daemon runs, like a command, and closes it when the test ends.
func (p *Process) Open() *store.Store {
	p.Helper()
	s, err := store.Open(p.Context(), db.Options{Path: p.Database(), Mode: db.Command})
	p.Must(err)
	p.Cleanup(func() { _ = s.Close() })
	return s
}

// Number returns the number that a query selects. It opens the database while the daemon runs.
func (p *Process) Number(query string) (n int) {
	p.Helper()
	db, err := sql.Open("sqlite", "file:"+p.Database()+"?mode=ro&_pragma=busy_timeout(5000)")
	p.Must(err)
	defer db.Close()
	p.Must(db.QueryRowContext(p.Context(), query).Scan(&n))
	return n
}

// Rows returns a digest of each table's contents. It reads the database while the daemon runs.
func (p *Process) Rows() map[string]string {
	p.Helper()
	db, err := sql.Open("sqlite", "file:"+p.Database()+"?mode=ro&_pragma=busy_timeout(5000)")
	p.Must(err)
	defer db.Close()
	names, err := db.QueryContext(p.Context(), `SELECT name FROM sqlite_schema
		WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%' AND name NOT LIKE 'sqlite_%'`)
	p.Must(err)
	defer names.Close()
	digests := map[string]string{}
	for names.Next() {
		var name string
		p.Must(names.Scan(&name))
		digests[name] = p.digest(db, name)
	}
	p.Must(names.Err())
	return digests
}

func (p *Process) digest(db *sql.DB, table string) string {
	p.Helper()
	rows, err := db.QueryContext(p.Context(), `SELECT * FROM "`+table+`"`)
	p.Must(err)
	defer rows.Close()
	columns, err := rows.Columns()
	p.Must(err)
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	sum, n := sha256.New(), 0
	for ; rows.Next(); n++ {
		p.Must(rows.Scan(into...))
		fmt.Fprintf(sum, "%q\n", values)
	}
	p.Must(rows.Err())
	return fmt.Sprintf("%d rows, %x", n, sum.Sum(nil)[:8])
}

// Every calls done at intervals of d until it returns true. If that takes longer than p.Patience, the test fails.
func (p *Process) Every(d time.Duration, done func() bool) {
	p.Helper()
	tick := time.NewTicker(d)
	defer tick.Stop()
	for deadline := time.Now().Add(p.Patience); !done(); <-tick.C {
		if time.Now().After(deadline) {
			_ = p.Daemon.Process.Signal(syscall.SIGQUIT) // prints all goroutines
			p.Fatalf("it takes too long: %v\n%s", p.Daemon.Wait(), p.Out.String())
		}
	}
}

// Addr returns the address that the daemon listens on.
func (p *Process) Addr() string { return strings.TrimPrefix(p.URL, "http://") }
