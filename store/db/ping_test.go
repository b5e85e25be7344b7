package db

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/core"
)

// TestPingOnANearlyFullDisk checks that Ping returns an error as long as only small writes fit into a file.
func TestPingOnANearlyFullDisk(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "n.db"), Daemon)
	limit := func(query string) {
		t.Helper()
		if err := s.Update(t.Context(), func(tx *Tx) error { _, err := tx.Number(query); return err }); err != nil {
			t.Fatal(err)
		}
	}
	limit("PRAGMA max_page_count = 1") // SQLite raises it to the current number of pages
	large, small := strings.Repeat("x", 200_000), "x"
	if err := put(s, "large", large); !errors.Is(err, core.ErrUnavailable) {
		t.Fatalf("nothing is full: %v", err)
	}
	for i := range 3 {
		if err := put(s, fmt.Sprint("small", i), small); err != nil {
			t.Fatalf("a small write does not fit: %v", err)
		}
		if db, sessions := s.Ping(t.Context()); !errors.Is(db, core.ErrUnavailable) || !errors.Is(sessions,
			core.ErrUnavailable) {
			t.Errorf("%d: %v, %v", i, db, sessions)
		}
	}
	limit("PRAGMA max_page_count = 1000000")
	for i := range 2 {
		if db, sessions := s.Ping(t.Context()); db != nil || sessions != nil {
			t.Errorf("%d, with room again: %v, %v", i, db, sessions)
		}
	}
	if err := put(s, "large", large); err != nil {
		t.Error(err)
	}
	var n int64
	if err := s.Get(t.Context(), &n, "SELECT coalesce(sum(length(data)), 0) FROM sessions"); err != nil || n != 0 {
		t.Errorf("%d bytes stay of the look, %v", n, err)
	}
}
