package store_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

// TestMain also runs the victim process, which writes records, prints those that were acknowledged, and is killed.
func TestMain(m *testing.M) {
	path := os.Getenv("STORE_CRASH_CHILD")
	if path == "" {
		os.Exit(m.Run())
	}
	s, err := store.Open(context.Background(), db.Options{Path: path, Migrate: true})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var mu sync.Mutex // keeps lines from being interleaved
	for p := range 8 {
		go func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("%d-%d-%d", os.Getpid(), p, i)
				if err := s.PutACMEData(context.Background(), key, nil, 1); err == nil {
					mu.Lock()
					fmt.Println(key)
					mu.Unlock()
				}
			}
		}()
	}
	select {}
}

// child starts this test binary in the role given by an environment variable, and scans its output.
func child(t *testing.T, env string, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), env)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

func TestWhatWasAcknowledgedSurvivesKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	var acked []string
	for round := range 5 {
		cmd, lines := child(t, "STORE_CRASH_CHILD="+path)
		for n := 0; lines.Scan(); n++ { // lines printed before the kill still count
			acked = append(acked, lines.Text())
			if n == 300+100*round {
				_ = cmd.Process.Signal(syscall.SIGKILL)
			}
		}
		_ = cmd.Wait()
	}
	s := storetest.OpenAt(t, path)
	for _, key := range acked[:len(acked)-1] { // the last line can be incomplete
		if _, err := s.ACMEData(t.Context(), key); err != nil {
			t.Fatalf("%s was acknowledged and is lost: %v", key, err)
		}
	}
	if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
}
