package store_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

// homed opens a file as serve does, and reports whether the file is away from home.
func homed(t *testing.T, path string, takeOver bool) (*storetest.Seeder, bool) {
	t.Helper()
	n := storetest.Seed(t, storetest.OpenAt(t, path)).At(now0)
	away, err := n.SettleHome(t.Context(), takeOver, now0)
	n.Must(err)
	return n, away
}

// wait compares the reasons for which the jobs wait, in the order of their numbers.
func wait(n *storetest.Seeder, want ...string) {
	n.Helper()
	var got []string
	n.AllRows(&got, "SELECT pause_reason FROM send_job ORDER BY no")
	if !slices.Equal(got, want) {
		n.Errorf("the jobs wait for %q, want %q", got, want)
	}
}

// fourJobs creates a closed file with four jobs: one running, one pending, one paused and one ended. Next to it are a
// backup and a snapshot.
func fourJobs(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "n.db")
	n, _ := homed(t, path, false)
	n.NewList()
	n.SQL("INSERT INTO campaign_copy (id, tenant_id, subject, created_at) VALUES ('c', ?, 'News', 1)", n.TenantID)
	for i, status := range []string{"running", "pending", "running", "completed"} {
		n.SQL(`INSERT INTO send_job (id, tenant_id, list_id, copy_id, status, due_at, created_at, expanded) VALUES
			(?, ?, ?, 'c', ?, ?, 1, 1)`,
			core.NewID(), n.TenantID, n.ListID, status, int64(now0)+int64(i))
	}
	n.SQL("UPDATE send_job SET paused_at = 7, pause_reason = 'too many complaints' WHERE no = 3")
	n.Must(n.Backup(t.Context(), path+".backup"))
	n.Must(n.Snapshot(t.Context(), path+".snapshot"))
	n.Must(n.Close())
	return path
}

// cp copies a file with the command cp, with or without the attributes that identify it.
func cp(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("cp", args...).CombinedOutput(); err != nil {
		t.Fatalf("cp %q: %v %s", args, err, out)
	}
}

const pausedBefore = core.PauseRestored + "; before: too many complaints"

// In a copy of the file, all unfinished jobs are on hold, whatever tool made the copy and wherever it is.
func TestAFileAwayFromHomeHoldsItsJobs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("copies are told from their originals by statx")
	}
	restore := func(t *testing.T, from, path string) string {
		if _, err := db.Restore(t.Context(), from, path, time.Now()); err != nil {
			t.Fatal(err)
		}
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
			wait(n, core.PauseRestored, core.PauseRestored, pausedBefore, "")
			if next, err := n.StartDueJobs(t.Context(), now0+1000); err != nil || next != 0 {
				t.Errorf("next %d %v", next, err)
			}
			if jobs, err := n.WatchJobs(true, func() {}).Read(t.Context()); err != nil || len(jobs.Running) > 0 {
				t.Errorf("%d jobs run: %v", len(jobs.Running), err)
			}
			if held, err := n.RestoredJobs(t.Context()); err != nil || held != 3 {
				t.Errorf("%d held: %v", held, err)
			}
			path := n.Path()
			n.Must(n.Close())
			n, away = homed(t, path, false) // the file is at home here now, and its jobs are still on hold
			if away {
				t.Error("it is away at the second start, too")
			}
			wait(n, core.PauseRestored, core.PauseRestored, pausedBefore, "")
			if resumed, err := n.ResumeRestored(t.Context(), "test", now0); err != nil || resumed != 2 {
				t.Errorf("%d resumed: %v", resumed, err)
			}
			wait(n, "", "", pausedBefore, "")
			jobs, err := n.WatchJobs(true, func() {}).Read(t.Context())
			if err != nil || len(jobs.Running) != 1 || jobs.Running[0].Unstoppable {
				t.Errorf("%+v %v", jobs, err)
			}
		})
	}
}

func TestAFileAtHomeGoesOn(t *testing.T) {
	path := fourJobs(t)
	goesOn := func(what string) *storetest.Seeder {
		n, away := homed(t, path, false)
		if away {
			t.Errorf("%s: away", what)
		}
		wait(n, "", "", "too many complaints", "")
		return n
	}
	n := goesOn("started again")
	n.SQL("DELETE FROM home")
	n.Must(n.Close())
	n.Must(goesOn("without a mark").Close())
	n.Must(os.Rename(path, path+".moved"))
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
	wait(n, "", "", "too many complaints", "")
	cp(t, path, path+".y")
	n, _ = homed(t, path+".y", false)
	wait(n, core.PauseRestored, core.PauseRestored, pausedBefore, "")
	n.Must(n.Close())
	n, _ = homed(t, path+".y", true)
	wait(n, "", "", pausedBefore, "")
}
