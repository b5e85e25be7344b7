package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/handlers/web/webtest"
)

// healthy runs the command with a configuration file.
func healthy(t *testing.T, file string, args ...string) (code int, out, said string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "newsletterd.toml")
	if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	p := newProgram(strings.NewReader(""), &stdout, &stderr, nil)
	code = p.run(t.Context(), append([]string{"newsletterd", "healthy", "--config", name}, args...))
	return code, stdout.String(), stderr.String()
}

func TestHealthyCommand(t *testing.T) {
	daemontest.Parallel(t)
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	daemontest.WriteCertificate(t, cert, key, 1)
	for name, tls := range map[string]string{"http": "", "https": "tls_cert = '" + cert + "'\ntls_key = '" + key + "'\n"} {
		r := start(t, func(c *config.Config) {
			if tls != "" {
				c.Server.TLSCert, c.Server.TLSKey = cert, key
			}
		})
		_, port, err := net.SplitHostPort(r.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		file := "[server]\nlisten = '0.0.0.0:" + port + "'\n" + tls
		if code, out, said := healthy(t, file); code != 0 || out != "ok\n" || said != "" {
			t.Errorf("%s: %d %q %q", name, code, out, said)
		}
		if code, out, _ := healthy(t, file, "--json"); code != 0 || !strings.Contains(out, `"session_store": "ok"`) {
			t.Errorf("%s: %d %q", name, code, out)
		}
		if err := os.Rename(r.cfg.Database.Path, r.cfg.Database.Path+".away"); err != nil {
			t.Fatal(err)
		}
		daemontest.Await(t, "a look at the file", func() bool {
			code, out, said := healthy(t, file)
			return code == 1 && out == "" && strings.Contains(said, "healthy: unavailable, database database replaced")
		})
		if err := os.Rename(r.cfg.Database.Path+".away", r.cfg.Database.Path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHealthyOfOthers checks that another program on the daemon's port is not healthy, and neither is an unused port.
func TestHealthyOfOthers(t *testing.T) {
	url := webtest.Start(t, &http.Server{Handler: http.NotFoundHandler()})
	host := strings.TrimPrefix(url, "http://")
	if code, out, said := healthy(t, "[server]\nlisten = '"+host+"'\n"); code != 1 || out != "" ||
		!strings.Contains(said, "404 Not Found") {
		t.Errorf("%d %q %q", code, out, said)
	}
	if code, _, said := healthy(t, "[server]\nlisten = '127.0.0.1:1'\n"); code != 1 ||
		!strings.Contains(said, "doesn't respond") {
		t.Errorf("%d %q", code, said)
	}
	for text, h := range map[string]health{
		"degraded: disk_reserve":          {Code: 200, Status: "degraded", Degraded: []string{"disk_reserve"}},
		"unavailable, session store away": {Code: 503, Status: "unavailable", Database: "ok", Sessions: "away"},
		"standby, replica replica behind": {Code: 503, Status: "standby", Replica: "replica_behind"},
		"502 Bad Gateway":                 {Code: 502},
	} {
		if h.String() != text {
			t.Errorf("%q, want %q", h, text)
		}
	}
}

// TestRunsShareNothing runs several commands in one process, so that the race detector can check that they share no
// memory that they write to.
func TestRunsShareNothing(t *testing.T) {
	var runs sync.WaitGroup
	for range 4 {
		runs.Go(func() {
			p := newProgram(strings.NewReader(""), io.Discard, io.Discard, nil)
			if code := p.run(t.Context(), []string{"newsletterd", "admin", "--help"}); code != cli.ExitDone {
				t.Error(code)
			}
		})
	}
	runs.Wait()
}
