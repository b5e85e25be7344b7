package replica

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/store/replica/objectstest"
)

// writeAtOnce runs as a separate process: it writes to the database at path without waiting for other writers.
func writeAtOnce(path string) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(0)&_pragma=wal_autocheckpoint(0)&_txlock=immediate")
	if err == nil {
		_, err = db.Exec("INSERT INTO number VALUES (100, x'')")
	}
	fmt.Println("result:", err)
	os.Exit(0)
}

// TestLookingAtTheIndexKeepsOtherProcessesOut checks that reading the -shm keeps its locks. The locks of the -wal are
// POSIX locks on the -shm, and a process loses them when it closes any descriptor of it. Two processes could then write
// at the same time.
func TestLookingAtTheIndexKeepsOtherProcessesOut(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "a.db")
	a := boot(t, objectstest.New(t).URL(), path)
	must(t, a.add(ctx, 0))
	tx, err := a.db.BeginTx(ctx, nil)
	must(t, err)
	_, err = tx.ExecContext(ctx, "INSERT INTO number VALUES (1, x'')")
	must(t, err)
	write := func() string {
		c := exec.CommandContext(ctx, os.Args[0])
		c.Env = append(os.Environ(), "REPLICA_WRITES_TO="+path)
		out, err := c.CombinedOutput()
		must(t, err)
		return string(out)
	}
	for range 3 {
		_, err = readIndex(path)
		must(t, err)
		_, err = readBackfill(path)
		must(t, err)
		_, err = Lag(ctx, a.opts.URL, objectstest.Env("look"), path)
		must(t, err)
	}
	if out := write(); !strings.Contains(out, "locked") {
		t.Errorf("another process in the middle of a transaction: %s", out)
	}
	must(t, tx.Commit())
	a.Committed()
	must(t, a.Wait(ctx))
	if out := write(); !strings.Contains(out, "result: <nil>") {
		t.Errorf("another process after it: %s", out)
	}
}
