package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
)

// scrape reads the metrics of a running daemon: the names of the series, and the text.
func scrape(t *testing.T, r *running) (names map[string]bool, text string) {
	t.Helper()
	res, err := http.Get("http://" + r.metrics.listener.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res.Status, err)
	}
	names = map[string]bool{}
	for line := range strings.Lines(string(b)) {
		if name := regexp.MustCompile(`^[a-z_]+`).FindString(line); name != "" {
			names[name] = true
		}
	}
	return names, string(b)
}

// panelsStandApart: every panel of a dashboard has a number of its own, and none lies over another.
func panelsStandApart(t *testing.T, dashboard []byte) {
	t.Helper()
	var d struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
		}
	}
	if err := json.Unmarshal(dashboard, &d); err != nil {
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

// Each metric that the dashboard asks for exists; those of ours that it leaves out are told.
func TestDashboard(t *testing.T) {
	daemontest.Parallel(t)
	r := start(t, nil)
	if res, err := http.Get("http://" + r.listener.Addr().String() + "/healthz"); err != nil {
		t.Fatal(err)
	} else {
		res.Body.Close()
	}
	names, text := scrape(t, r)
	b, err := os.ReadFile("../../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	panelsStandApart(t, b)
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

// TestAudit: who changed what is in the log of the daemon, also by whom a user was changed.
func TestAudit(t *testing.T) {
	daemontest.Parallel(t)
	r := start(t, nil)
	token := operatorToken(t, r)
	req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://"+r.listener.Addr().String()+"/api/admin/tenants",
		strings.NewReader(`{"name":"Acme"}`))
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 201 {
		t.Fatal(res.Status)
	}
	daemontest.Await(t, "the log", func() bool { return r.log.has("audit") })
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	if !regexp.MustCompile(`"msg":"audit","actor":"user:[0-9a-f-]{36}","action":"tenant.create"`).Match(r.log.b.Bytes()) {
		t.Errorf("%s", r.log.b.Bytes())
	}
}

// operatorToken makes an operator and a token with the scope admin.
func operatorToken(t *testing.T, r *running) string {
	t.Helper()
	u := core.NewUser("op@example.org", now())
	u.Roles = []core.Role{{Role: core.RoleOperator}}
	if err := r.store.AddUser(t.Context(), u, "", now()); err != nil {
		t.Fatal(err)
	}
	u, err := r.store.User(t.Context(), u.ID)
	if err != nil {
		t.Fatal(err)
	}
	tokens, _, err := r.auth.AdminToken(t.Context(), u, "", time.Hour, now())
	if err != nil {
		t.Fatal(err)
	}
	return tokens.AccessToken
}
