package db

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/storetest/faults"
)

const (
	now0 core.Instant = 1_790_000_000_000
	day               = 24 * time.Hour
)

// open opens a file without keepers.
func open(ctx context.Context, o Options) (*DB, error) {
	s := New(o)
	return s, s.Open(ctx, func(context.Context) error { return nil })
}

func testOpen(t testing.TB, path string, mode Mode) *DB {
	t.Helper()
	s, err := open(t.Context(), Options{Path: path, Migrate: mode == Daemon, Mode: mode})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// onlyErr returns the error of a call with two results.
func onlyErr[T any](_ T, err error) error { return err }

func put(s *DB, name, value string) error {
	return s.Update(context.Background(), func(tx *Tx) error {
		_, err := tx.Exec("INSERT INTO mark (name, value) VALUES (?, ?)", name, value)
		return err
	})
}

// SQL runs a statement in its own transaction. It panics if the statement fails.
func (s *DB) SQL(query string, args ...any) {
	err := s.Update(context.Background(), func(tx *Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	})
	if err != nil {
		panic(err)
	}
}

// Count returns the number that a query reads. It panics if there is none.
func (s *DB) Count(query string, args ...any) (n int) {
	if err := s.Get(context.Background(), &n, query, args...); err != nil {
		panic(err)
	}
	return n
}

// crash copies the files of a database as a kill -9 would leave them, without a clean stop, and returns the path of the
// copy.
func crash(t *testing.T, path string) (image string) {
	t.Helper()
	image = filepath.Join(t.TempDir(), "newsletterd.db")
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + end)
		if end != "" && errors.Is(err, os.ErrNotExist) {
			continue
		}
		must(t, err)
		must(t, os.WriteFile(image+end, b, 0o600))
	}
	return image
}

// countMarks returns the number of rows written by put, in a file that must be intact.
func countMarks(t *testing.T, path string) (n int) {
	t.Helper()
	s := testOpen(t, path, Daemon)
	must(t, s.Get(t.Context(), &n, "SELECT count(*) FROM mark WHERE value = 'row'"))
	if found, err := s.CheckFile(t.Context(), nil); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
	must(t, s.Close())
	return n
}

// driverCalls returns the call counter of the driver sqlite-faults.
var driverCalls = sync.OnceValue(func() *faults.Calls {
	if err := PrepareProcess(); err != nil {
		panic(err)
	}
	c, err := faults.NewCalls("sqlite-faults")
	if err != nil {
		panic(err)
	}
	return c
})
