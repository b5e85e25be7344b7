package replica

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/store/db"
	"newsletterd/store/replica/objectstest"
)

// machineOfSchedule is serveSchedule on systems that have the clock for it.
var machineOfSchedule func(url, path string)

// TestMain also runs the machine that TestKill kills, in a separate process.
func TestMain(m *testing.M) {
	if err := db.PrepareProcess(); err != nil { // before the first test opens a database
		panic(err)
	}
	if path := os.Getenv("REPLICA_WRITES_TO"); path != "" {
		writeAtOnce(path)
	}
	if url := os.Getenv("REPLICA_MACHINE"); url != "" {
		if os.Getenv("REPLICA_CLIENT") != "" {
			machineOfSchedule(url, os.Getenv("REPLICA_PATH"))
		}
		if os.Getenv("REPLICA_MIGRATES") == "true" {
			serveMigrated(url, os.Getenv("REPLICA_PATH"))
		}
		serve(url, os.Getenv("REPLICA_PATH"))
	}
	os.Exit(m.Run())
}

// serve writes numbers from five callers at once, one of them through a separate connection like a command. It runs
// checkpoints, and prints each number when it is acknowledged.
func serve(url, path string) {
	ctx := context.Background()
	a, err := start(ctx, url, path, time.Second)
	endOn(err)
	var first int
	endOn(a.db.QueryRowContext(ctx, "SELECT coalesce(max(n), -1) + 1 FROM number").Scan(&first))
	var mu sync.Mutex
	fmt.Println("up", first)
	foreign, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=wal_autocheckpoint(0)"+
		"&_pragma=synchronous(FULL)&_txlock=immediate")
	endOn(err)
	for i := range 5 {
		a := a
		if i == 0 {
			a = &machine{Replica: a.Replica, db: foreign}
		}
		go func() {
			for {
				mu.Lock()
				n := first
				first++
				mu.Unlock()
				endOn(a.add(ctx, n))
				fmt.Println(n)
			}
		}()
	}
	for i := 0; ; i++ {
		time.Sleep(20 * time.Millisecond)
		endOn(a.checkpointAfterCopy(ctx))
	}
}

// endOn ends the process of a machine if err is not nil. It prints the error unless the machine was too slow to renew
// its lease, which a busy computer can cause: a real machine would start again.
func endOn(err error) {
	switch {
	case errors.Is(err, ErrStale):
		os.Exit(0)
	case err != nil:
		fmt.Println("error", err)
		os.Exit(1)
	}
}

// killed runs a machine until it has acknowledged count numbers, kills it, and returns the numbers. It starts a machine
// again that ends because it was too slow, up to 20 times, and counts the starts.
func killed(t *testing.T, url, path string, count int) (acknowledged []int, starts int) {
	t.Helper()
	for ; len(acknowledged) < count && starts < 20 && !t.Failed(); starts++ {
		acknowledged = append(acknowledged, killedAt(t, url, path, count-len(acknowledged))...)
	}
	return acknowledged, starts
}

// killedAt is like killed, but returns fewer numbers if the machine ends earlier.
func killedAt(t *testing.T, url, path string, count int) (acknowledged []int) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(append(os.Environ(), "REPLICA_MACHINE="+url, "REPLICA_PATH="+path), objectstest.Environ("test")...)
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if word, ok := strings.CutPrefix(lines.Text(), "error"); ok {
			t.Errorf("the machine says: %s", word)
			break
		}
		if n, err := strconv.Atoi(lines.Text()); err == nil {
			if acknowledged = append(acknowledged, n); len(acknowledged) == count {
				must(t, c.Process.Kill())
			}
		}
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code > 0 {
		t.Errorf("the machine exited with %d", code)
	}
	return acknowledged
}

// TestKill repeatedly kills a working machine, and then keeps or discards its disk. No acknowledged number may be lost.
func TestKill(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		rounds := 8
		switch {
		case os.Getenv("NEWSLETTERD_TORTURE") != "":
			rounds = 40
		case testing.Short():
			rounds = 3
		}
		path := filepath.Join(t.TempDir(), "0.db")
		var acknowledged []int
		for round := range rounds {
			more, starts := killed(t, url, path, 50+37*round%90)
			acknowledged = append(acknowledged, more...)
			if round%2 == 1 {
				path = filepath.Join(t.TempDir(), fmt.Sprint(round, ".db"))
			}
			m := boot(t, url, path)
			there := map[int]bool{}
			for _, n := range m.numbers(t) {
				there[n] = true
			}
			for _, n := range acknowledged {
				if !there[n] {
					t.Fatalf("round %d: %d is lost, of %d acknowledged", round, n, len(acknowledged))
				}
			}
			if round%4 == 3 {
				m.stop(t)
			} else {
				m.die()
			}
			// A machine that ends twice while it starts no longer knows its file, and may set it aside.
			if starts == 1 && len(aside(t, path)) > 0 {
				t.Errorf("round %d: a file was set aside", round)
			}
		}
	})
}
