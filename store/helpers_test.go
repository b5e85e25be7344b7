package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

const now0 core.Instant = 1_790_000_000_000

func testOpen(t testing.TB, path string, mode db.Mode) *Store {
	t.Helper()
	s, err := Open(t.Context(), db.Options{Path: path, Migrate: mode == db.Daemon, Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(s *Store, name, value string) error {
	return s.Update(context.Background(), func(tx *db.Tx) error {
		_, err := tx.Exec("INSERT INTO mark (name, value) VALUES (?, ?)", name, value)
		return err
	})
}

// crash copies the files of a database in the state in which a kill -9 would leave them, and returns the path of the
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

// onlyErr returns the error of a call with two results.
func onlyErr[T any](_ T, err error) error { return err }

func onlyErr2[T, U any](_ T, _ U, err error) error { return err }

const day = 24 * time.Hour
