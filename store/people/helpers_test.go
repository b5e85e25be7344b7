package people

import (
	"context"
	"testing"

	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/db/dbtest"
	"newsletterd/store/devices"
	"newsletterd/store/files"
	"newsletterd/store/identity"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

func testOpen(t testing.TB, path string, mode db.Mode) *Store {
	t.Helper()
	d := db.New(db.Options{Path: path, Mode: mode, Migrate: true})
	t0, f := tenants.New(d), files.New(d)
	r := Rooms{
		Tenants: t0, Files: f, Identity: identity.New(d, t0), Devices: devices.New(d, f), Members: members.New(d, t0),
		Campaigns: campaigns.New(d, t0, f),
	}
	r.Imports = imports.New(d, t0, f, r.Members, r.Campaigns)
	s := New(d, r)
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
