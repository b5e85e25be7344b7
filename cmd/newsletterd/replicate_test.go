package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/store/replica/objectstest"
)

// TestCommandsAndTheReplica changes something by command with a daemon, without one, and while another machine serves.
// A command's change must survive the loss of the machine, or the command must be refused.
func TestCommandsAndTheReplica(t *testing.T) {
	daemontest.Parallel(t)
	storage := objectstest.New(t)
	a := daemontest.New(t, replicaSettings(storage.URL())...)
	create := func(name string) string {
		return a.Field("id", "admin", "tenant", "create", "--name", name)
	}
	a.Serve()
	// A command that doesn't wait for the replica would return before its change is there.
	storage.Set(objectstest.Faults{Latency: 800 * time.Millisecond})
	next := create("next")
	a.Kill()
	storage.Set(objectstest.Faults{})
	a.LoseDisk()
	alone := create("alone") // with an empty disk and no daemon
	if n := a.Number("SELECT count(*) FROM tenant"); n != 2 {
		t.Errorf("%d tenants after the machine of the first one died", n)
	}
	a.LoseDisk()
	a.Serve()
	for _, id := range []string{next, alone} {
		a.Run("admin", "tenant", "show", "--id", id)
	}

	b := daemontest.NewIn(t, t.TempDir(), a.Env...)
	if out, err := b.Cmd("admin", "tenant", "create", "--name", "x").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "serves this database") {
		t.Errorf("%v\n%s", err, out)
	}
	a.Stop()
	b.Serve()
	if out, err := a.Cmd("admin", "tenant", "create", "--name", "x").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "serves this database") {
		t.Errorf("%v\n%s", err, out)
	}
	a.Run("status") // without the replica
	out, err := a.Cmd("admin", "tenant", "list").CombinedOutput()
	if err != nil || !strings.Contains(string(out), alone) || !strings.Contains(string(out), "another machine serves") {
		t.Errorf("%v\n%s", err, out)
	}
	b.Stop()
}

// TestCommandsNextToAStandby checks that commands change nothing if the daemon is a standby, because a takeover would
// set the change aside. It runs them on an empty disk, and on the file of a machine that served before.
func TestCommandsNextToAStandby(t *testing.T) {
	daemontest.Parallel(t)
	storage := objectstest.New(t)
	a := daemontest.New(t, replicaSettings(storage.URL())...)
	a.Serve()
	b := daemontest.NewIn(t, t.TempDir(), a.Env...)
	waits := func(p *daemontest.Process) {
		t.Helper()
		p.Every(10*time.Millisecond, func() bool {
			r, err := p.Try(http.MethodGet, "/healthz", nil)
			return err == nil && strings.Contains(r.Text, `"status":"standby"`)
		})
		for _, args := range [][]string{{"admin", "tenant", "create", "--name", "lost"}, {"keys", "rotate"}, {"migrate"}} {
			if out, err := p.Cmd(args...).CombinedOutput(); err == nil || !strings.Contains(string(out), "is a standby") {
				t.Errorf("%v: %v\n%s", args, err, out)
			}
		}
	}
	b.Start()
	waits(b)
	if _, err := os.Stat(b.Database()); !os.IsNotExist(err) {
		t.Errorf("a database was made: %v", err)
	}
	a.Kill() // leaves a -wal
	b.Every(10*time.Millisecond, func() bool {
		r, err := b.Try(http.MethodGet, "/healthz", nil)
		return err == nil && r.StatusCode == http.StatusOK
	})
	b.Run("admin", "tenant", "create", "--name", "kept")
	a.Start()
	waits(a)
	if out := string(a.Run("status")); !strings.Contains(out, "standby") {
		t.Errorf("status next to a standby:\n%s", out)
	}
	a.Run("check")
	a.Run("backup", "--to", "copy.db")
	b.Stop()
}

// TestALookLeavesTheFileAsItIs runs status and check on the database of a killed daemon. The next start must be able to
// continue with that database.
func TestALookLeavesTheFileAsItIs(t *testing.T) {
	daemontest.Parallel(t)
	a := daemontest.New(t, replicaSettings(objectstest.New(t).URL())...)
	a.Serve()
	a.Run("admin", "tenant", "create", "--name", "acme")
	a.Kill()
	a.Run("status")
	a.Run("check")
	a.Serve()
	if aside, err := filepath.Glob(a.Database() + ".superseded*"); err != nil || len(aside) > 0 {
		t.Errorf("set aside: %v %v", aside, err)
	}
	a.Stop()
	a.LeftNothing()
}

// TestRestoreSupersedesTheReplica restores a backup. The replica, and a machine with an empty disk, must continue from
// the backup. The restore must be refused while another machine serves.
func TestRestoreSupersedesTheReplica(t *testing.T) {
	daemontest.Parallel(t)
	a := daemontest.New(t, replicaSettings("file://"+t.TempDir())...)
	create := func(name string) string { return a.Field("id", "admin", "tenant", "create", "--name", name) }
	a.Serve()
	create("before")
	a.Run("backup", "--to", "backup.db")
	create("after")
	refused := func(p *daemontest.Process, text string) {
		t.Helper()
		if out, err := p.Cmd("restore", "--from", a.Dir+"/backup.db").CombinedOutput(); err == nil ||
			!strings.Contains(string(out), text) {
			t.Errorf("%v\n%s", err, out)
		}
	}
	b := daemontest.NewIn(t, t.TempDir(), a.Env...)
	refused(a, "another newsletterd is serving this database")
	refused(b, "serves this database")
	a.Stop()
	b.Run("restore", "--from", a.Dir+"/backup.db")
	if n := b.Number("SELECT count(*) FROM tenant"); n != 1 {
		t.Errorf("%d tenants where it was restored", n)
	}
	b.LoseDisk()
	a.Serve()
	if n := a.Number("SELECT count(*) FROM tenant"); n != 1 {
		t.Errorf("%d tenants on the machine that had the database before", n)
	}
	a.Run("check")
	a.Stop()
}
