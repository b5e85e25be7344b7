package store

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"newsletterd/core"
)

// homed opens a file as serve does and reports whether it is away from home.
func homed(t *testing.T, path string, takeOver bool) (newsletter, bool) {
	t.Helper()
	s, err := Open(t.Context(), Options{Path: path, Migrate: true})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	away, err := s.SettleHome(t.Context(), takeOver, now0)
	must(t, err)
	return newsletter{T: t, Store: s}, away
}

// held compares the reasons of the jobs, by number.
func (n newsletter) held(want ...string) {
	n.Helper()
	var got []string
	must(n.T, n.all(n.Context(), &got, "SELECT pause_reason FROM send_job ORDER BY no"))
	for i := range want {
		if got[i] != want[i] {
			n.Errorf("job %d waits for %q, want %q", i+1, got[i], want[i])
		}
	}
}

// fourJobs makes a closed file with four jobs: one runs, one is pending, one was paused, one has ended. Next to it are
// a backup and a snapshot.
func fourJobs(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "n.db")
	n, _ := homed(t, path, false)
	n.tenant = core.NewID()
	n.sql("INSERT INTO tenant (id, name, domains, created_at, updated_at) VALUES (?, 'T', '[]', 1, 1)", n.tenant)
	n.list = n.addList(n.tenant)
	n.sql("INSERT INTO campaign (id, tenant_id, subject, created_at) VALUES ('c', ?, 'News', 1)", n.tenant)
	for i, status := range []string{"running", "pending", "running", "completed"} {
		n.sql(`INSERT INTO send_job (id, tenant_id, list_id, campaign_id, status, due_at, created_at, expanded) VALUES
			(?, ?, ?, 'c', ?, ?, 1, 1)`,
			core.NewID(), n.tenant, n.list, status, int64(now0)+int64(i))
	}
	n.sql("UPDATE send_job SET paused_at = 7, pause_reason = 'too many complaints' WHERE no = 3")
	must(t, n.Backup(t.Context(), path+".backup"))
	must(t, n.Snapshot(t.Context(), path+".snapshot"))
	must(t, n.Close())
	return path
}

func cp(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("cp", args...).CombinedOutput(); err != nil {
		t.Fatalf("cp %q: %v %s", args, err, out)
	}
}

const pausedBefore = core.PauseRestored + "; before: too many complaints"

// A copy of the file, however made and wherever put, holds what has not ended.
func TestAFileAwayFromHomeHoldsItsJobs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("copies are told from their originals by statx")
	}
	restore := func(t *testing.T, from, path string) string {
		_, err := Restore(t.Context(), from, path, time.Now())
		must(t, err)
		return path
	}
	for name, put := range map[string]func(t *testing.T, path string) string{
		"cp": func(t *testing.T, path string) string {
			cp(t, path,
				path+".copy")
			return path + ".copy"
		},
		"cp -a": func(t *testing.T, path string) string {
			cp(t, "-a", path,
				path+".copy")
			return path + ".copy"
		},
		"backup, where it is": func(_ *testing.T, path string) string { return path + ".backup" },
		"backup, over it":     func(t *testing.T, path string) string { cp(t, path+".backup", path); return path },
		"snapshot, over it":   func(t *testing.T, path string) string { cp(t, path+".snapshot", path); return path },
		"restore of a backup": func(t *testing.T, path string) string { return restore(t, path+".backup", path) },
		"restore of a cp": func(t *testing.T, path string) string {
			cp(t, path, path+".x")
			return restore(t,
				path+".x", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, away := homed(t, put(t, fourJobs(t)), false)
			if !away {
				t.Error("it takes itself for the original")
			}
			n.held(core.PauseRestored, core.PauseRestored, pausedBefore, "")
			if next, err := n.StartDueJobs(t.Context(), now0+1000); err != nil || next != 0 {
				t.Errorf("next %d %v", next, err)
			}
			if jobs, err := n.RunningJobs(t.Context()); err != nil || len(jobs) > 0 {
				t.Errorf("%d jobs run: %v", len(jobs), err)
			}
			if held, err := n.RestoredJobs(t.Context()); err != nil || held != 3 {
				t.Errorf("%d held: %v", held, err)
			}
			path := n.Path()
			must(t, n.Close())
			n, away = homed(t, path, false) // it lives here now, and its jobs are still held
			if away {
				t.Error("it is away at the second start, too")
			}
			n.held(core.PauseRestored, core.PauseRestored, pausedBefore, "")
			if resumed, err := n.ResumeRestored(t.Context(), "test", now0); err != nil || resumed != 2 {
				t.Errorf("%d resumed: %v", resumed, err)
			}
			n.held("", "", pausedBefore, "")
			if jobs, err := n.RunningJobs(t.Context()); err != nil || len(jobs) != 1 || jobs[0].Unstoppable {
				t.Errorf("%+v %v", jobs, err)
			}
		})
	}
}

func TestAFileAtHomeGoesOn(t *testing.T) {
	path := fourJobs(t)
	goesOn := func(what string) newsletter {
		n, away := homed(t, path, false)
		if away {
			t.Errorf("%s: away", what)
		}
		n.held("", "", "too many complaints", "")
		return n
	}
	n := goesOn("started again")
	n.sql("DELETE FROM home")
	must(t, n.Close())
	must(t, goesOn("without a mark").Close())
	must(t, os.Rename(path, path+".moved"))
	path += ".moved"
	goesOn("renamed")
}

func TestTakeOver(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("copies are told from their originals by statx")
	}
	path := fourJobs(t)
	cp(t, path, path+".x")
	n, away := homed(t, path+".x", true)
	if !away {
		t.Error("it takes itself for the original")
	}
	n.held("", "", "too many complaints", "")
	cp(t, path, path+".y")
	n, _ = homed(t, path+".y", false)
	n.held(core.PauseRestored, core.PauseRestored, pausedBefore, "")
	must(t, n.Close())
	n, _ = homed(t, path+".y", true)
	n.held("", "", pausedBefore, "")
}
