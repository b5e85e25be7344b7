package main

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
)

// TestDashboard checks that each metric in the dashboard exists, and prints our metrics that the dashboard leaves out.
func TestDashboard(t *testing.T) {
	daemontest.Parallel(t)
	r := start(t, nil)
	r.Get("/healthz").OK()
	text := r.Get("http://" + r.metrics.listener.Addr().String() + "/metrics").OK().Text
	names := map[string]bool{} // names of series
	for line := range strings.Lines(text) {
		if name := regexp.MustCompile(`^[a-z_]+`).FindString(line); name != "" {
			names[name] = true
		}
	}
	b, err := os.ReadFile("../../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`\b(newsletterd|go|process)_[a-z_]+`).FindAllString(string(b), -1)
	if len(asked) < 20 {
		t.Errorf("the dashboard asks for %d metrics", len(asked))
	}
	used := map[string]bool{}
	for _, name := range asked {
		used[name] = true
		if !names[name] {
			t.Errorf("the dashboard asks for %s, which the daemon does not have", name)
		}
	}
	for name := range names {
		series := regexp.MustCompile(`_(sum|count)$`).ReplaceAllString(name, "_bucket")
		if strings.HasPrefix(name, "newsletterd_") && !used[name] && !used[series] {
			t.Logf("%s is not in the dashboard", name)
		}
	}
	for _, line := range []string{
		`newsletterd_jobs{status="running"} 0`, `newsletterd_recipients_total{outcome="sent"} 0`,
		`newsletterd_db_batch_operations_bucket{le="1"} `,
	} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("%q is missing", line)
		}
	}
}

// TestPanelsOfTheDashboard checks that every panel of the dashboard has a unique ID, and that panels don't overlap.
func TestPanelsOfTheDashboard(t *testing.T) {
	b, err := os.ReadFile("../../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
		}
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatalf("docs/grafana.json: %v", err)
	}
	for i, p := range d.Panels {
		for _, q := range d.Panels[:i] {
			a, b := p.GridPos, q.GridPos
			if p.ID == q.ID || p.Title == q.Title || a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%d %q and %d %q are the same, or lie over each other", p.ID, p.Title, q.ID, q.Title)
			}
		}
	}
}

// TestAudit checks that the daemon's log contains every change with its actor, including changes to users.
func TestAudit(t *testing.T) {
	daemontest.Parallel(t)
	r := start(t, nil)
	r.operator("")
	r.Send("POST", "/api/admin/tenants", map[string]string{"name": "Acme"}).Wants(201)
	daemontest.Await(t, "the log", func() bool { return r.log.Has("audit") })
	if !regexp.MustCompile(`"msg":"audit","actor":"user:[0-9a-f-]{36}","action":"tenant.create"`).MatchString(r.log.String()) {
		t.Errorf("%s", r.log)
	}
}

// TestSnapshotOfAnIdleDatabase checks that a snapshot stays current until the database changes.
func TestSnapshotOfAnIdleDatabase(t *testing.T) {
	cfg := config.Default()
	cfg.Database.Path = filepath.Join(t.TempDir(), "n.db")
	cfg.Backup.Path = filepath.Join(t.TempDir(), "copy.db")
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	if at := currentSnapshot(cfg, core.At(now)); at != 0 {
		t.Errorf("no snapshot: %v", at)
	}
	touch := func(path string, at time.Time) {
		t.Helper()
		err := os.WriteFile(path, nil, 0o600)
		if err = cmp.Or(err, os.Chtimes(path, now, at)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{cfg.Database.Path, cfg.Backup.Path} {
		touch(path, now.Add(-10*time.Hour))
	}
	if at := currentSnapshot(cfg, core.At(now)); at != core.At(now) {
		t.Errorf("unchanged: %v", at)
	}
	touch(cfg.Database.Path, now.Add(-time.Hour))
	if at := currentSnapshot(cfg, core.At(now)); at != core.At(now.Add(-10*time.Hour)) {
		t.Errorf("changed: %v", at)
	}
}
