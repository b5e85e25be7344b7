package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/store/replica/objectstest"
)

// TestAStandbyIsLookedAt reads the metrics of a standby with an empty disk, and runs doctor on it. init must not create
// a second database there.
func TestAStandbyIsLookedAt(t *testing.T) {
	daemontest.Parallel(t)
	storage := objectstest.New(t)
	a := daemontest.New(t, replicaSettings(storage.URL())...)
	a.Serve()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	metrics := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b := daemontest.NewIn(t, t.TempDir(), append(a.Env, "NEWSLETTERD_METRICS_LISTEN="+metrics)...)
	b.Start()
	scrape := func() string {
		r, err := http.Get("http://" + metrics + "/metrics")
		if err != nil {
			return ""
		}
		defer r.Body.Close()
		text, _ := io.ReadAll(r.Body)
		return string(text)
	}
	b.Every(10*time.Millisecond, func() bool { return strings.Contains(scrape(), "\nnewsletterd_replica_standby 1\n") })
	if text := scrape(); !strings.Contains(text, "\nnewsletterd_replica_lease_fresh 0\n") {
		t.Errorf("metrics of a standby:\n%s", text)
	}
	out, _ := b.Cmd("doctor").CombinedOutput()
	for _, want := range []string{"is a standby or starting; it has no database", "503 Service Unavailable: it is a standby"} {
		if !strings.Contains(string(out), want) || strings.Contains(string(out), "there is no database") {
			t.Errorf("doctor next to a standby, without %q:\n%s", want, out)
		}
	}
	folder := t.TempDir()
	c := b.Cmd("init", "--config", filepath.Join(folder, "newsletterd.toml"), "--domain", "localhost", "--relay",
		"none",
		"--admin-email", "a@example.org")
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out),
		"the replica already has a database") {
		t.Errorf("%v\n%s", err, out)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("init has left %v, %v", left, err)
	}
	a.Stop()
	b.Every(10*time.Millisecond, func() bool { return strings.Contains(scrape(), "\nnewsletterd_replica_lease_fresh 1\n") })
	if text := scrape(); !strings.Contains(text, "\nnewsletterd_replica_standby 0\n") {
		t.Errorf("metrics of the one that serves:\n%s", text)
	}
	b.Stop()
}
