package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/replica"
	"newsletterd/store/replica/objectstest"
)

// noLog makes a storage accept the lease but nothing of the log.
var noLog = objectstest.Faults{Decide: func(r objectstest.Request) (f objectstest.Fault) {
	if r.Op == "PUT" && strings.Contains(r.Key, "0000/") {
		f.Kind = objectstest.Error503
	}
	return f
}}

// TestCommandsThatTheReplicaLacks changes something by command while the bucket accepts no writes, with and without a
// daemon. The command returns a separate exit code, and the change arrives when the bucket is back.
func TestCommandsThatTheReplicaLacks(t *testing.T) {
	daemontest.Parallel(t)
	storage := objectstest.New(t)
	a := daemontest.New(t, replicaSettings(storage.URL())...)
	a.Serve()
	storage.Set(noLog)
	c := a.Cmd("admin", "tenant", "create", "--name", "acme")
	out, err := c.CombinedOutput()
	behind := strings.Contains(string(out), "the replica doesn't have it yet")
	if c.ProcessState.ExitCode() != cli.ExitBehind || !behind {
		t.Errorf("%v\n%s", err, out)
	}
	storage.Set(objectstest.Faults{})
	a.Run("admin", "tenant", "create", "--name", "next")
	a.Stop()

	// This command holds the lease itself.
	path := filepath.Join(t.TempDir(), "alone.db")
	open := func() *store.Store {
		t.Helper()
		r, err := replica.New(replica.Options{
			URL: storage.URL(), Env: objectstest.Env("alone"), Path: path, TTL: 3 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(t.Context(), db.Options{Path: path, Mode: db.Command, Replica: r})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	storage.Set(noLog)
	text, err := s.StartDrill(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); !errors.Is(err, db.ErrBehind) {
		t.Errorf("%v", err)
	}
	storage.Set(objectstest.Faults{})
	s = open()
	if got, err := s.DrillStarted(t.Context()); err != nil || got != text {
		t.Errorf("%q, %v, and not %q", got, err, text)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	a.LoseDisk()
	a.Serve()
	if n := a.Number("SELECT count(*) FROM tenant"); n != 2 {
		t.Errorf("%d tenants of 2", n)
	}
	if n := a.Number("SELECT count(*) FROM mark WHERE value = '" + text + "'"); n != 1 {
		t.Error("what the command alone has changed is not in the replica")
	}
	a.Stop()
}
