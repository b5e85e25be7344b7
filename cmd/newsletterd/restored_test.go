package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/config"
)

// copiedWithJobs creates a database with two pending jobs in one folder, and returns a copy of the closed file in
// another.
func copiedWithJobs(t *testing.T) string {
	t.Helper()
	c := start(t, nil)
	list := c.seed.NewList().ID
	letter := filepath.Join(t.TempDir(), "letter.txt")
	c.Must(os.WriteFile(letter, []byte("Hello.\n"), 0o600))
	for _, name := range []string{"First", "Second"} {
		c.command(0, nil, "admin", "job", "create", "--list", list, "--name", name, "--subject", "Hi", "--text", letter,
			"--scheduled-at", "2099-01-01T00:00:00Z")
	}
	if err := c.quit(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(c.cfg.Database.Path)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// restoredView records which of log, healthz, status and doctor report jobs that are held since the file was copied.
type restoredView struct{ logged, healthz, status, doctor bool }

// startAt starts a daemon on a file and reads its reports.
func startAt(t *testing.T, path string, takeOver bool) (*running, restoredView) {
	t.Helper()
	c := start(t, func(cfg *config.Config) { cfg.Database.Path, cfg.TakeOver = path, takeOver })
	health := c.Get("/healthz").Text
	var status struct {
		Restored int64 `json:"restored_jobs"`
	}
	c.command(0, &status, "status")
	all, _ := examined(t, "[database]\npath = \""+c.cfg.Database.Path+"\"\n[metrics]\nlisten = \"\"\n")
	v := restoredView{
		logged: c.log.Has("send jobs are paused"), healthz: strings.Contains(health, `"restored_jobs":2`),
		status: status.Restored == 2,
	}
	for _, f := range all {
		v.doctor = v.doctor || f.Check == "jobs" &&
			strings.Contains(f.Text, "2 jobs paused because the database was restored or copied")
	}
	return c, v
}

// TestACopiedFileHoldsItsJobs checks that a copied file holds its jobs, and that log, healthz, status and doctor report
// this until they are resumed.
func TestACopiedFileHoldsItsJobs(t *testing.T) {
	path := copiedWithJobs(t)
	c, got := startAt(t, path, false)
	if want := (restoredView{true, true, true, true}); got != want {
		t.Errorf("started: %+v", got)
	}
	c.command(2, nil, "admin", "job", "resume")
	c.command(0, nil, "admin", "job", "resume", "--all")
	var jobs []struct {
		PauseReason string `json:"pause_reason"`
	}
	c.command(0, &jobs, "admin", "job", "list")
	if len(jobs) != 2 || jobs[0].PauseReason+jobs[1].PauseReason != "" {
		t.Errorf("resumed: %+v", jobs)
	}
	if err := c.quit(); err != nil {
		t.Fatal(err)
	}
	if _, got = startAt(t, path, false); got != (restoredView{}) {
		t.Errorf("at home since: %+v", got)
	}
}

// TestTakeOverHoldsNothing checks that serve --take-over resumes the jobs of a copy.
func TestTakeOverHoldsNothing(t *testing.T) {
	if _, got := startAt(t, copiedWithJobs(t), true); got != (restoredView{}) {
		t.Errorf("%+v", got)
	}
}
