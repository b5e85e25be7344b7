package worker

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/store"
	"newsletterd/store/db"
)

func TestSnapshotIsRenewedOnlyAfterAChange(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), db.Options{Path: filepath.Join(dir, "a.db"), Migrate: true})
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

// TestSnapshotAfterTheStartAndAtTheEnd checks that the first snapshot is made soon after the start, that a recent one
// is kept at the next start, and that a clean stop leaves a complete one.
func TestSnapshotAfterTheStartAndAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		to := filepath.Join(dir, "backup", "a.db")
		open := func() *store.Store {
			s, err := store.Open(t.Context(), db.Options{Path: filepath.Join(dir, "a.db"), Migrate: true})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		age := func() os.FileInfo {
			synctest.Wait()
			fi, err := os.Stat(to)
			if err != nil {
				return nil
			}
			return fi
		}
		s := open()
		g := NewGroup(log, Snapshot(s, to, time.Hour, log))
		g.Start()
		if time.Sleep(59 * time.Second); age() != nil {
			t.Error("written in the first minute, in which the start reads")
		}
		time.Sleep(2 * time.Second)
		first := age()
		if first == nil {
			t.Fatal("not written a minute after the start")
		}
		g.Drain(time.Minute)
		if !os.SameFile(first, age()) {
			t.Error("renewed at the end without a change")
		}

		if err := os.Chtimes(to, time.Time{}, time.Now().Add(-30*time.Minute)); err != nil {
			t.Fatal(err)
		}
		g = NewGroup(log, Snapshot(s, to, time.Hour, log))
		g.Start()
		if time.Sleep(29 * time.Minute); !os.SameFile(first, age()) {
			t.Error("a young one is renewed after a start")
		}
		time.Sleep(2 * time.Minute)
		second := age()
		if os.SameFile(first, second) {
			t.Error("not renewed when it was an hour old: what a crash left out would stay out")
		}
		if _, err := s.PurposeKey(t.Context(), "changed"); err != nil {
			t.Fatal(err)
		}
		g.Drain(time.Minute)
		if os.SameFile(second, age()) {
			t.Error("not renewed at the end after a change")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
