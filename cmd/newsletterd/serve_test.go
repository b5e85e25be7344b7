package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/handlers/web/webtest"
	"newsletterd/store/storetest"
)

// running is a daemon under test, built as in production on its own port, with a client for it.
type running struct {
	*daemon
	*webtest.Client
	seed *storetest.Seeder
	log  *daemontest.Log
	env  []string // for commands

	opened map[string]bool // links that mailed has returned
	quit   func() error    // stops the daemon and returns the result of run
}

func start(t *testing.T, change func(*config.Config)) *running {
	t.Helper()
	dir := t.TempDir()
	cfg := config.Default()
	cfg.Server.Listen, cfg.Metrics.Listen, cfg.Log.Format = "127.0.0.1:0", "127.0.0.1:0", "json"
	cfg.Database.Path, cfg.Mail.Directory = filepath.Join(dir, "newsletterd.db"), filepath.Join(dir, "mail")
	cfg.Mail.DNSServer = "127.0.0.1:9" // no program listens there, so that no test asks the machine's name servers
	if change != nil {
		change(cfg)
	}
	r := &running{log: &daemontest.Log{}, opened: map[string]bool{}}
	var err error
	if r.daemon, err = build(t.Context(), cfg, newLog(cfg.Log, r.log)); err != nil {
		t.Fatal(err)
	}
	r.Client = &webtest.Client{TB: t, URL: "http://" + r.listener.Addr().String()}
	r.seed = storetest.Seed(t, r.store)
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- r.run(stop) }()
	r.quit = sync.OnceValue(func() error { close(stop); return <-ended })
	t.Cleanup(func() {
		if err := r.quit(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// command runs a command on the running daemon's database, and decodes the JSON that it prints.
func (r *running) command(exit int, out any, args ...string) (said string) {
	r.Helper()
	var stdout, stderr bytes.Buffer
	p := newProgram(strings.NewReader(""), &stdout, &stderr, r.env)
	args = append([]string{"newsletterd", "--database", r.cfg.Database.Path, "--json"}, args...)
	if code := p.run(r.Context(), args); code != exit {
		r.Fatalf("%s: exit code %d\n%s%s", args, code, &stdout, &stderr)
	}
	if out != nil {
		if err := json.Unmarshal(stdout.Bytes(), out); err != nil {
			r.Fatalf("%s: %v\n%s", args, err, &stdout)
		}
	}
	return stderr.String()
}

// addUser creates a user with daemontest.Password.
func (r *running) addUser(email core.Email) core.User {
	r.Helper()
	hash, err := r.auth.NewPassword(r.Context(), "password", daemontest.Password)
	r.Must(err)
	return r.seed.NewUser(email, hash, func(u *core.User) { u.Name = "Ann Reader" })
}

// mailed waits for an email to an address with a link whose path starts with path, and returns a link that it has not
// returned before.
func (r *running) mailed(path, email string) (link string) {
	r.Helper()
	daemontest.Await(r, "a mail with "+path, func() bool {
		files, err := filepath.Glob(filepath.Join(r.cfg.Mail.Directory, "*.eml"))
		r.Must(err)
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				continue // not complete yet
			}
			// This decodes soft line breaks, equals signs, and headers that were folded because of a long address.
			text := strings.NewReplacer("=\r\n", "", "=3D", "=", "\r\n ", " ").Replace(string(b))
			if _, rest, ok := strings.Cut(text, r.cfg.Origin()+path); ok && strings.Contains(text, "\r\nTo: <"+email+">\r\n") {
				query, _, _ := strings.Cut(rest, "\r\n")
				if link = r.cfg.Origin() + path + strings.TrimSpace(query); !r.opened[link] {
					r.opened[link] = true
					return true
				}
			}
		}
		return false
	})
	return link
}

// operator creates an operator and gives the client a token with a scope.
func (r *running) operator(scope string) {
	r.Helper()
	r.seed.NewUser("op@example.org", "", func(u *core.User) { u.Roles = []core.Role{{Role: core.RoleOperator}} })
	u, err := r.store.UserByEmail(r.Context(), "op@example.org")
	r.Must(err)
	tokens, _, err := r.auth.AdminToken(r.Context(), u, scope, time.Hour, now())
	r.Must(err)
	r.Token = tokens.AccessToken
}

func TestServeAndStop(t *testing.T) {
	daemontest.Parallel(t)
	d := start(t, func(c *config.Config) { c.Metrics.Pprof = true })
	if d.cfg.Origin() != d.URL {
		t.Errorf("links would name %s, the daemon listens on %s", d.cfg.Origin(), d.URL)
	}
	if r := d.Get("/healthz").OK(); !strings.Contains(r.Text, `"database":"ok"`) {
		t.Errorf("healthz: %s", r.Text)
	}
	side := "http://" + d.metrics.listener.Addr().String()
	if r := d.Get(side + "/metrics").OK(); !strings.Contains(r.Text, "newsletterd_build_info") ||
		!strings.Contains(r.Text, "newsletterd_http_requests_total") {
		t.Errorf("metrics: %s", r.Text)
	}
	d.Get(side + "/debug/pprof/goroutine?debug=1").Wants(200)
	if _, err := build(t.Context(), d.cfg, d.daemon.log); err == nil ||
		!strings.Contains(err.Error(), "another newsletterd") {
		t.Errorf("a second daemon on one file: %v", err)
	}
	if err := d.quit(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ready", "stop: listener", "stop: workers", "stop: http", "stop: housekeeping", "stop: tracking",
		"stop: database", "stopped",
	}
	var got []string
	for _, m := range d.log.Messages(t) {
		if m == "ready" || strings.HasPrefix(m, "stop") {
			got = append(got, m)
		}
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("order of the stop: %q", got)
	}
	for _, rest := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(d.cfg.Database.Path + rest); err == nil {
			t.Errorf("%s is left", rest)
		}
	}
}

// TestHealthDuringTheStop checks that during the stop, the health check on an open connection returns 503, and new
// connections are refused.
func TestHealthDuringTheStop(t *testing.T) {
	cfg := config.Default()
	cfg.Database.Path, cfg.Mail.Directory = filepath.Join(t.TempDir(), "a.db"), t.TempDir()
	cfg.Server.Listen, cfg.Metrics.Listen = "127.0.0.1:0", ""
	d, err := build(t.Context(), cfg, newLog(cfg.Log, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = d.server.Serve(d.listener) }()
	defer func() {
		if err := d.stop(); err != nil {
			t.Error(err)
		}
	}()
	addr := d.listener.Addr().String()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	dial := func(context.Context, string, string) (net.Conn, error) { return conn, nil }
	client := &webtest.Client{
		TB: t, URL: "http://" + addr, HTTP: &http.Client{Transport: &http.Transport{DialContext: dial}},
	}
	client.Get("/healthz").Wants(200)
	if err := d.closeListener(); err != nil {
		t.Fatal(err)
	}
	client.Get("/healthz").Wants(503)
	if c, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
		c.Close()
		t.Error("a new connection was taken during the stop")
	}
	conn.Close()
}

func TestFailedStartsLeaveNothingOpen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	cfg := config.Default()
	cfg.Database.Path, cfg.Mail.Directory = filepath.Join(dir, "a.db"), filepath.Join(dir, "mail")
	cfg.Server.Listen, cfg.Metrics.Listen = "127.0.0.1:0", taken.Addr().String()
	log := newLog(cfg.Log, io.Discard)
	if _, err := build(t.Context(), cfg, log); err == nil || !strings.Contains(err.Error(), "metrics.listen") {
		t.Fatalf("a listener that is taken: %v", err)
	}
	cfg.Server.Listen, cfg.Metrics.Listen = taken.Addr().String(), ""
	if _, err := build(t.Context(), cfg, log); err == nil || !strings.Contains(err.Error(), "server.listen") {
		t.Fatalf("a listener that is taken: %v", err)
	}
	cfg.Server.Listen = "127.0.0.1:0"
	d, err := build(t.Context(), cfg, log)
	if err != nil {
		t.Fatalf("the failed starts hold something: %v", err)
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
}

// TestServeTLS checks that with a certificate the daemon serves https, and uses that certificate to reach itself for
// its webhooks.
func TestServeTLS(t *testing.T) {
	daemontest.Parallel(t)
	dir := t.TempDir()
	files := func(name string) (cert, key string) {
		cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
		daemontest.WriteCertificate(t, cert, key, 1)
		return cert, key
	}
	cert, key := files("own")
	d := start(t, func(c *config.Config) { c.Server.TLSCert, c.Server.TLSKey = cert, key })
	if !strings.HasPrefix(d.cfg.Origin(), "https://") {
		t.Errorf("links would begin with %s", d.cfg.Origin())
	}
	d.HTTP = &http.Client{Transport: d.loopTransport(true)}
	d.Get(d.sendURL() + "/healthz").Wants(200)
	otherCert, otherKey := files("other")
	other := start(t, func(c *config.Config) { c.Server.TLSCert, c.Server.TLSKey = otherCert, otherKey })
	if res, err := (&http.Client{Transport: d.loopTransport(true)}).Get(other.sendURL() + "/healthz"); err == nil {
		res.Body.Close()
		t.Error("a foreign certificate on our address was taken for ours")
	}
}

// TestAdvice checks that on a public address the start logs settings that are rarely intended.
func TestAdvice(t *testing.T) {
	daemontest.Parallel(t)
	d := start(t, func(c *config.Config) { c.Server.PublicURL = "https://news.example.org" })
	d.seed.NewList(func(in *core.ListInput) { in.Name = new("Monthly news") })
	for origin, want := range map[string]int{"https://news.example.org": 4, "http://localhost:8080": 0} {
		cfg, log := config.Default(), &daemontest.Log{}
		cfg.Server.PublicURL = origin
		if err := advise(t.Context(), cfg, d.store, newLog(cfg.Log, log)); err != nil {
			t.Fatal(err)
		}
		if got := log.Messages(t); len(got) != want {
			t.Errorf("%s: %q", origin, got)
		}
		if want > 0 && !log.Has("Monthly news") {
			t.Errorf("the list is not named: %s", log)
		}
	}
}

func TestMasterKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	for _, c := range []struct {
		name, text string
		mode       os.FileMode
		want       string
	}{
		{"good", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", 0o600, ""},
		{"short", "AAEC\n", 0o600, "32 bytes"},
		{"no base64", strings.Repeat("!", 44), 0o600, "32 bytes"},
		{"readable by others", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", 0o644, "others can read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(file, []byte(c.text), c.mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, c.mode); err != nil {
				t.Fatal(err)
			}
			key, err := masterKey(file)
			if c.want == "" && (err != nil || len(key) != masterKeyBytes) {
				t.Errorf("%d bytes, %v", len(key), err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want: %s", err, c.want)
			}
		})
	}
}

// TestDuplicateGuard checks that [send] duplicate_guard refuses a repeated request. Without it each request creates a
// job.
func TestDuplicateGuard(t *testing.T) {
	daemontest.Parallel(t)
	for guard, want := range map[config.Duration]int{0: http.StatusOK, config.Duration(time.Hour): http.StatusConflict} {
		d := start(t, func(c *config.Config) { c.Send.DuplicateGuard = guard })
		list := d.seed.NewList()
		d.operator(core.ScopeSend)
		job := map[string]string{"list_id": list.ID, "subject": "Hello", "body_text": "Again"}
		for i, code := range []int{http.StatusOK, want} {
			if r := d.Send("POST", "/api/send-jobs", job); r.StatusCode != code {
				t.Errorf("guard %s, request %d: %d, want %d", guard, i+1, r.StatusCode, code)
			}
		}
	}
}
