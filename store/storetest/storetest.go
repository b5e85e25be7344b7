// Package storetest opens real databases for tests and fills them, without mocks. A test needs one line and 4 ms for a
// database.
package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"newsletterd/store"
	"newsletterd/store/db"
)

// migrated returns the bytes of a fresh, migrated database. It is created once per process, because migrations took a
// third of the CPU time of package auth's tests under the race detector.
var migrated = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "storetest")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "migrated.db")
	if _, err := db.Migrate(context.Background(), path, db.MigrateOptions{Now: time.Now()}); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// Create writes a fresh, migrated database to path. It doesn't change an existing file.
func Create(path string) error {
	file, err := migrated()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(file)
	return errors.Join(err, f.Close())
}

// Open opens a fresh, migrated database in a temporary folder, as a daemon would. It closes the database when the
// test ends.
func Open(t testing.TB) *store.Store {
	t.Helper()
	return OpenWith(t, db.Options{})
}

// OpenAt opens the database at path and creates it if it doesn't exist. It closes the database when the test ends.
func OpenAt(t testing.TB, path string) *store.Store {
	t.Helper()
	return OpenWith(t, db.Options{Path: path})
}

// OpenWith is like OpenAt, with further options. Without a path, the database is in a temporary folder.
func OpenWith(t testing.TB, o db.Options) *store.Store {
	t.Helper()
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "newsletterd.db")
	}
	o.Migrate, o.WatchEvery = true, time.Minute
	if err := Create(o.Path); err != nil {
		t.Fatal(err)
	}
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
