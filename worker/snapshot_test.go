package worker

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/store"
)

func TestSnapshotIsRenewedOnlyAfterAChange(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "a.db"), Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		to := filepath.Join(dir, "backup", "a.db")
		g := NewGroup(slog.New(slog.DiscardHandler), Snapshot(s, to, time.Hour, slog.New(slog.DiscardHandler)))
		g.Start()
		defer g.Drain(time.Minute)
		stat := func() os.FileInfo {
			fi, err := os.Stat(to)
			if err != nil {
				t.Fatal(err)
			}
			return fi
		}
		time.Sleep(61 * time.Minute)
		synctest.Wait()
		first := stat()
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if !os.SameFile(first, stat()) {
			t.Error("renewed without a change")
		}
		if _, err := s.PurposeKey(t.Context(), "changed"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		second := stat()
		if os.SameFile(first, second) {
			t.Error("not renewed after a change")
		}
		if _, err := s.PurposeKey(t.Context(), "changed at the end"); err != nil {
			t.Fatal(err)
		}
		g.Drain(time.Minute)
		if os.SameFile(second, stat()) {
			t.Error("not renewed at the stop")
		}
	})
}
