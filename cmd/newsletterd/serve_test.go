package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
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
)

// logLines gathers what a daemon logs, as JSON.
type logLines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// messages lists the texts of the lines, in order.
func (l *logLines) messages(t *testing.T) (all []string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		var entry struct{ Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("no JSON: %s", line)
		}
		all = append(all, entry.Msg)
	}
	return all
}

// has reports whether a text was logged.
func (l *logLines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), text)
}

// running is a daemon under test, built as in production, on a port of its own.
type running struct {
	*daemon
	log  *logLines
	quit func() error // stops it and returns what run returned
}

func start(t *testing.T, change func(*config.Config)) *running {
	t.Helper()
	dir := t.TempDir()
	cfg := config.Default()
	cfg.Server.Listen, cfg.Metrics.Listen, cfg.Log.Format = "127.0.0.1:0", "127.0.0.1:0", "json"
	cfg.Database.Path, cfg.Mail.Directory = filepath.Join(dir, "newsletterd.db"), filepath.Join(dir, "mail")
	if change != nil {
		change(cfg)
	}
	r := &running{log: &logLines{}}
	var err error
	if r.daemon, err = build(t.Context(), cfg, newLog(cfg.Log, r.log)); err != nil {
		t.Fatal(err)
	}
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

func get(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	res, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func TestServeAndStop(t *testing.T) {
	daemontest.Parallel(t)
	d := start(t, func(c *config.Config) { c.Metrics.Pprof = true })
	base, client := "http://"+d.listener.Addr().String(), &http.Client{Transport: &http.Transport{}}
	if d.cfg.Origin() != base {
		t.Errorf("links would name %s, the daemon listens on %s", d.cfg.Origin(), base)
	}
	if code, body := get(t, client, base+"/healthz"); code != 200 || !strings.Contains(body, `"database":"ok"`) {
		t.Errorf("healthz: %d %s", code, body)
	}
	side := "http://" + d.metrics.listener.Addr().String()
	if code, body := get(t, client, side+"/metrics"); code != 200 || !strings.Contains(body, "newsletterd_build_info") ||
		!strings.Contains(body, "newsletterd_http_requests_total") {
		t.Errorf("metrics: %d", code)
	}
	if code, _ := get(t, client, side+"/debug/pprof/goroutine?debug=1"); code != 200 {
		t.Errorf("profiles: %d", code)
	}
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
	for _, m := range d.log.messages(t) {
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

// While it stops, a connection that is open hears 503 from the health check, and new ones are refused.
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
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn,
		error,
	) {
		return conn, nil
	}}}
	if code, _ := get(t, client, "http://"+addr+"/healthz"); code != 200 {
		t.Fatalf("healthz: %d", code)
	}
	if err := d.closeListener(); err != nil {
		t.Fatal(err)
	}
	if code, _ := get(t, client, "http://"+addr+"/healthz"); code != 503 {
		t.Errorf("healthz during the stop: %d", code)
	}
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

// With a certificate the daemon speaks https, and reaches itself for its webhooks by that very certificate.
func TestServeTLS(t *testing.T) {
	daemontest.Parallel(t)
	cert, key := selfSigned(t)
	d := start(t, func(c *config.Config) { c.Server.TLSCert, c.Server.TLSKey = cert, key })
	if !strings.HasPrefix(d.cfg.Origin(), "https://") {
		t.Errorf("links would begin with %s", d.cfg.Origin())
	}
	if code, _ := get(t, &http.Client{Transport: d.loopTransport(true)}, d.sendURL()+"/healthz"); code != 200 {
		t.Errorf("healthz over https: %d", code)
	}
	otherCert, otherKey := selfSigned(t)
	other := start(t, func(c *config.Config) { c.Server.TLSCert, c.Server.TLSKey = otherCert, otherKey })
	if res, err := (&http.Client{Transport: d.loopTransport(true)}).Get(other.sendURL() + "/healthz"); err == nil {
		res.Body.Close()
		t.Error("a foreign certificate on our address was taken for ours")
	}
}

func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"news.example.org"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der},
		key:  {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// On a public address the start names what is rarely meant.
func TestAdvice(t *testing.T) {
	daemontest.Parallel(t)
	d := start(t, func(c *config.Config) { c.Server.PublicURL = "https://news.example.org" })
	tenant, err := core.NewTenant(core.TenantInput{Name: new("Acme")}, now())
	if err != nil {
		t.Fatal(err)
	}
	list, err := core.NewList(core.ListInput{TenantID: &tenant.ID, Name: new("Monthly news")}, now())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.store.AddTenant(t.Context(), tenant, "test"),
		d.store.AddList(t.Context(), list, "test")); err != nil {
		t.Fatal(err)
	}
	for origin, want := range map[string]int{"https://news.example.org": 4, "http://localhost:8080": 0} {
		cfg, log := config.Default(), &logLines{}
		cfg.Server.PublicURL = origin
		if err := advise(t.Context(), cfg, d.store, newLog(cfg.Log, log)); err != nil {
			t.Fatal(err)
		}
		if got := log.messages(t); len(got) != want {
			t.Errorf("%s: %q", origin, got)
		}
		if want > 0 && !strings.Contains(log.b.String(), "Monthly news") {
			t.Errorf("the list is not named: %s", &log.b)
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
		{"short", "AAEC\n", 0o600, "must hold 32 bytes"},
		{"no base64", strings.Repeat("!", 44), 0o600, "must hold 32 bytes"},
		{"readable by others", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", 0o644, "may be read by others"},
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

// [send] duplicate_guard refuses a request that is sent again; without it each request is a job of its own.
func TestDuplicateGuard(t *testing.T) {
	daemontest.Parallel(t)
	for guard, want := range map[config.Duration]int{0: http.StatusOK, config.Duration(time.Hour): http.StatusConflict} {
		d := start(t, func(c *config.Config) { c.Send.DuplicateGuard = guard })
		tenant, err := core.NewTenant(core.TenantInput{Name: new("Acme")}, now())
		if err != nil {
			t.Fatal(err)
		}
		list, err := core.NewList(core.ListInput{TenantID: &tenant.ID, Name: new("News")}, now())
		if err != nil {
			t.Fatal(err)
		}
		user := core.NewUser("ann@acme.example", now())
		user.Roles = []core.Role{{Role: core.RoleOperator}}
		err = errors.Join(d.store.AddTenant(t.Context(), tenant, "test"), d.store.AddList(t.Context(), list, "test"),
			d.store.AddUser(t.Context(), user, "", now()))
		if err != nil {
			t.Fatal(err)
		}
		token, _, err := d.auth.AdminToken(t.Context(), user, core.ScopeSend, time.Hour, now())
		if err != nil {
			t.Fatal(err)
		}
		for i, code := range []int{http.StatusOK, want} {
			body := `{"list_id": "` + list.ID + `", "subject": "Hello", "body_text": "Again"}`
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.cfg.Origin()+"/api/send-jobs",
				strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer "+token.AccessToken)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != code {
				t.Errorf("guard %s, request %d: %d, want %d", guard, i+1, res.StatusCode, code)
			}
		}
	}
}
