package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"newsletterd/core"
	"newsletterd/core/coretest"
)

// TestMain lets the test binary be the victim: a process that writes, says what was acknowledged, and is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("STORE_CRASH_CHILD"); path != "" {
		crashChild(path)
		return
	}
	os.Exit(m.Run())
}

func crashChild(path string) {
	s, err := Open(context.Background(), Options{Path: path, Migrate: true})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var mu sync.Mutex // one line at a time
	for p := range 8 {
		go func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("%d-%d-%d", os.Getpid(), p, i)
				if err := put(s, key, "acked"); err == nil {
					mu.Lock()
					fmt.Println(key)
					mu.Unlock()
				}
			}
		}()
	}
	select {}
}

// child starts this program as another, which a variable of the environment tells it, and reads what that one says.
func child(t *testing.T, env string, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), env)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

func TestWhatWasAcknowledgedSurvivesKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	var acked []string
	for round := range 5 {
		cmd, lines := child(t, "STORE_CRASH_CHILD="+path)
		for n := 0; lines.Scan(); n++ { // what it said before it died counts, also after the kill
			acked = append(acked, lines.Text())
			if n == 300+100*round {
				_ = cmd.Process.Signal(syscall.SIGKILL)
			}
		}
		_ = cmd.Wait()
	}
	s := testOpen(t, path, Daemon)
	for _, key := range acked[:len(acked)-1] { // the last line may have been cut
		var v string
		if err := s.get(t.Context(), &v, "SELECT value FROM mark WHERE name = ?", key); err != nil {
			t.Fatalf("%s was acknowledged and is lost: %v", key, err)
		}
	}
	if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
}

func TestAFullDiskRefusesAndRecovers(t *testing.T) {
	tried := 0
	defer coretest.Held(t, 12, &tried, "writes to a full file")
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	pages := func(n int) {
		t.Helper()
		err := s.update(t.Context(), func(tx *Tx) error {
			var got int
			return tx.conn.GetContext(t.Context(), &got, fmt.Sprint("PRAGMA max_page_count = ", n))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	pages(1) // SQLite takes the present size instead: full
	big := make([]byte, 100<<10)
	var wg sync.WaitGroup
	for i := range 20 {
		tried++
		wg.Go(func() {
			if err := put(s, fmt.Sprint("big", i), string(big)); !errors.Is(err, core.ErrUnavailable) {
				t.Errorf("write %d on a full disk: %v", i, err)
			}
		})
	}
	wg.Wait()
	var n int
	if err := s.get(t.Context(), &n, "SELECT count(*) FROM mark WHERE name LIKE 'big%'"); err != nil || n != 0 {
		t.Errorf("%d rows without an acknowledgement, %v", n, err)
	}
	pages(1 << 30)
	if err := put(s, "big", string(big)); err != nil {
		t.Errorf("after space came back: %v", err)
	}
}
