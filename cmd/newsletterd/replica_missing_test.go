package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/store/replica/objectstest"
)

// TestAReplicaThatIsNotMounted starts a daemon whose replica folder is empty, like the mount point of an unmounted
// disk. It does so after a stop and after a kill, and if only the database, or only the note next to it, records the
// replica. No new replica may start in the folder. Once the disk is mounted again, everything must be there.
func TestAReplicaThatIsNotMounted(t *testing.T) {
	daemontest.Parallel(t)
	folder := filepath.Join(t.TempDir(), "replica")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(folder, 0o700))
	a := daemontest.New(t, replicaSettings("file://"+folder)...)
	note := a.Database() + ".replica"
	refused := func(args ...string) {
		t.Helper()
		c := a.Cmd(args...)
		late := time.AfterFunc(30*time.Second, func() { _ = c.Process.Kill() })
		out, err := c.CombinedOutput()
		late.Stop()
		if err == nil || !strings.Contains(string(out), "is empty, but this database was replicated there before") ||
			!strings.Contains(string(out), "newsletterd replica begin") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("%v: in the folder that is not mounted: %v %v", args, left, err)
		}
	}
	unmount := func() {
		t.Helper()
		must(os.Rename(folder, folder+".unmounted"))
		must(os.Mkdir(folder, 0o700))
	}
	mount := func() {
		t.Helper()
		must(os.Remove(folder))
		must(os.Rename(folder+".unmounted", folder))
	}
	aside := func(want int) {
		t.Helper()
		if aside, err := filepath.Glob(a.Database() + ".superseded*"); err != nil || len(aside) > want {
			t.Errorf("set aside: %v %v", aside, err)
		}
	}
	for i, end := range []func(){
		a.Stop,
		a.Kill,
		func() { a.Stop(); must(os.Remove(note)) }, // only the database records the replica
		func() { // only the note records it
			a.Stop()
			must(os.Rename(a.Database(), a.Database()+".away"))
		},
	} {
		aside(max(0, i-2)) // a file without its note isn't recognized
		a.Serve()
		a.Run("admin", "tenant", "create", "--name", "acme")
		end()
		unmount()
		refused("serve")
		refused("admin", "tenant", "create", "--name", "lost")
		refused("doctor")
		mount()
		_ = os.Rename(a.Database()+".away", a.Database())
	}
	a.Serve()
	if n := a.Number("SELECT count(*) FROM tenant"); n != 4 {
		t.Errorf("%d tenants, not 4", n)
	}
	if out, err := a.Cmd("replica", "begin").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "the replica already has a database") {
		t.Errorf("%v\n%s", err, out)
	}
	a.Stop()

	// The replica is lost. A new one starts only if a person requests it.
	must(os.RemoveAll(folder))
	if out, err := a.Cmd("serve").CombinedOutput(); err == nil || !strings.Contains(string(out), "Mount its disk") {
		t.Errorf("%v\n%s", err, out)
	}
	must(os.Mkdir(folder, 0o700))
	refused("serve")
	a.Run("replica", "begin")
	b := daemontest.NewIn(t, t.TempDir(), a.Env...)
	b.Serve()
	if n := b.Number("SELECT count(*) FROM tenant"); n != 4 {
		t.Errorf("%d tenants of 4 elsewhere", n)
	}
	b.Stop()

	// With a different URL, this is a first start.
	elsewhere := "NEWSLETTERD_REPLICA_URL=file://" + t.TempDir()
	a.Serve()
	a.Stop()
	a.Serve(elsewhere)
	if n := a.Number("SELECT count(*) FROM tenant"); n != 4 {
		t.Errorf("%d tenants of 4 after the address was changed", n)
	}
	a.Stop()
	b.Serve(elsewhere) // a standby of the earlier replica
	if n := b.Number("SELECT count(*) FROM tenant"); n != 4 {
		t.Errorf("%d tenants of 4 on the other machine after the address was changed", n)
	}
	b.Stop()
}

// TestAHoleInTheReplica removes a file of the log and kills the daemon. At the next start it repairs the replica, and a
// lost disk then loses nothing.
func TestAHoleInTheReplica(t *testing.T) {
	daemontest.Parallel(t)
	storage := objectstest.New(t)
	a := daemontest.New(t, replicaSettings(storage.URL())...)
	a.Serve()
	for range 20 {
		a.Run("admin", "tenant", "create", "--name", "acme")
	}
	var level []string
	for _, key := range storage.Keys() {
		if strings.Contains(key, "/0000/") {
			level = append(level, key)
		}
	}
	a.Kill()
	storage.Remove(level[len(level)/2])
	if out, err := a.Cmd("replica", "status").CombinedOutput(); err == nil || !strings.Contains(string(out), "damaged") {
		t.Errorf("%v\n%s", err, out)
	}
	if out := string(a.Run("status")); !strings.Contains(out, "CAN'T BE RESTORED") {
		t.Errorf("status:\n%s", out)
	}
	a.Serve()
	a.Run("replica", "status")
	a.Run("replica", "drill")
	a.Kill()
	if out := a.Out.String(); !strings.Contains(out, "repaired by a full copy") {
		t.Errorf("the log of the daemon:\n%s", out)
	}
	a.LoseDisk()
	a.Serve()
	if n := a.Number("SELECT count(*) FROM tenant"); n != 20 {
		t.Errorf("%d tenants of 20", n)
	}
	a.Stop()
}

// TestAReplicaThatHasExpired removes the log except its newest files, or all of it, like an expiry rule of a bucket.
// `replica status` fails. If the database file isn't known to be the newest, following the advice of `serve` works.
func TestAReplicaThatHasExpired(t *testing.T) {
	daemontest.Parallel(t)
	for _, left := range []int{3, 0} {
		storage := objectstest.New(t)
		a := daemontest.New(t, replicaSettings(storage.URL())...)
		a.Serve()
		for range 20 {
			a.Run("admin", "tenant", "create", "--name", "acme")
		}
		a.Stop()
		var log []string
		for _, key := range storage.Keys() {
			if strings.HasSuffix(key, ".ltx") {
				log = append(log, key)
			}
		}
		for _, key := range log[:len(log)-left] {
			storage.Remove(key)
		}
		if out, err := a.Cmd("replica", "status").CombinedOutput(); err == nil || !strings.Contains(string(out), "damaged") {
			t.Errorf("%d files are left: %v\n%s", left, err, out)
		}
		if err := os.Remove(a.Database() + ".replica"); err != nil {
			t.Fatal(err)
		}
		if out, err := a.Cmd("serve").CombinedOutput(); err == nil || !strings.Contains(string(out), "newsletterd replica begin") {
			t.Errorf("%d files are left: %v\n%s", left, err, out)
		}
		if out, err := a.Cmd("replica", "begin").CombinedOutput(); err == nil || !strings.Contains(string(out), "--although-older") {
			t.Errorf("%d files are left, and whose database is the newest is not known: %v\n%s", left, err, out)
		}
		a.Run("replica", "begin", "--although-older")
		a.Run("replica", "status")
		b := daemontest.NewIn(t, t.TempDir(), a.Env...)
		b.Serve()
		if n := b.Number("SELECT count(*) FROM tenant"); n != 20 {
			t.Errorf("%d files were left: %d tenants of 20", left, n)
		}
		b.Stop()
	}
}
