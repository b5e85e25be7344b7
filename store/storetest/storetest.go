// Package storetest opens real databases for tests: one line, 4 ms, no mocks.
package storetest

import (
	"path/filepath"
	"testing"
	"time"

	"newsletterd/store"
)

// Open opens a fresh, migrated database in a temporary folder, as a daemon would, and closes it when the test ends.
func Open(t testing.TB) *store.Store {
	t.Helper()
	return OpenAt(t, filepath.Join(t.TempDir(), "newsletterd.db"))
}

// OpenAt opens the database at a path, made if it is missing, and closes it when the test ends.
func OpenAt(t testing.TB, path string) *store.Store {
	t.Helper()
	return OpenWith(t, store.Options{Path: path})
}

// OpenWith is OpenAt with further options.
func OpenWith(t testing.TB, o store.Options) *store.Store {
	t.Helper()
	o.Migrate, o.WatchEvery = true, time.Minute
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
