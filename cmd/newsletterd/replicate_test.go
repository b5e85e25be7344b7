package main

import (
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/store/replica/objectstest"
)

// TestCommandsAndTheReplica changes something by commands next to a daemon, without one, and where another machine
// serves: what a command has done outlives the machine, or it is refused.
func TestCommandsAndTheReplica(t *testing.T) {
	daemontest.Parallel(t)
	storage := objectstest.New(t)
	a := daemontest.New(t, replicaSettings(storage.URL())...)
	create := func(name string) string {
		return a.Field("id", "admin", "tenant", "create", "--name", name)
	}
	a.Serve()
	storage.Set(objectstest.Faults{Latency: 800 * time.Millisecond}) // more than a command waits without
	next := create("next")
	a.Kill()
	storage.Set(objectstest.Faults{})
	a.LoseDisk()
	alone := create("alone") // on an empty disk, without a daemon
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
		!strings.Contains(string(out), "serves this database: run the command there") {
		t.Errorf("%v\n%s", err, out)
	}
	a.Stop()
	b.Serve()
	if out, err := a.Cmd("admin", "tenant", "create", "--name", "x").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "serves this database: run the command there") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err := a.Cmd("admin", "tenant", "list").CombinedOutput()
	if err != nil || !strings.Contains(string(out), alone) || !strings.Contains(string(out), "another one serves") {
		t.Errorf("%v\n%s", err, out)
	}
	b.Stop()
}
