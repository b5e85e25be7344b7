package tenants

import (
	"context"
	"testing"

	"newsletterd/store/db"
	"newsletterd/store/db/dbtest"
)

func testOpen(t testing.TB, path string, mode db.Mode) *Store {
	t.Helper()
	d := db.New(db.Options{Path: path, Mode: mode, Migrate: true})
	s := New(d)
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

func (s *Store) SQL(query string, args ...any)           { dbtest.SQL(s.DB, query, args...) }
func (s *Store) Count(query string, args ...any) (n int) { return dbtest.Count(s.DB, query, args...) }
func (s *Store) SkewStatistics()                         { dbtest.SkewStatistics(s.DB) }

func (s *Store) AllRows(rows any, query string, args ...any) {
	if err := s.All(context.Background(), rows, query, args...); err != nil {
		panic(err)
	}
}
