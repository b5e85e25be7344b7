package campaigns

import (
	"context"
	"testing"

	"newsletterd/store/db"
	"newsletterd/store/db/dbtest"
	"newsletterd/store/files"
	"newsletterd/store/tenants"
)

func testOpen(t testing.TB, path string, mode db.Mode) *Store {
	t.Helper()
	d := db.New(db.Options{Path: path, Mode: mode, Migrate: true})
	t0 := tenants.New(d)
	s := New(d, t0, files.New(d))
	must(t, d.Open(t.Context(), func(context.Context) error { return nil }))
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *Store) SQL(query string, args ...any) { dbtest.SQL(s.DB, query, args...) }
func (s *Store) SkewStatistics()               { dbtest.SkewStatistics(s.DB) }
