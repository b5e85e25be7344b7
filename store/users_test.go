package store

import (
	"errors"
	"path/filepath"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/identity"
)

func TestUsers(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "n.db"), db.Daemon)
	ctx := t.Context()
	const now core.Instant = 1_800_000_000_000
	u := core.NewUser("Ann@example.org", now)
	if err := s.AddUser(ctx, u, "hash", now); err != nil {
		t.Fatal(err)
	}
	if err := s.AddUser(ctx, core.NewUser("ann@EXAMPLE.org", now), "hash", now); !errors.Is(err, identity.ErrUserExists) {
		t.Errorf("the same address: %v", err)
	}
	bob := core.NewUser("bob@example.org", now)
	bob.Roles = []core.Role{{Role: core.RoleOperator}}
	if err := s.AddUser(ctx, bob, "", now); err != nil {
		t.Fatal(err)
	}
	if got, err := s.UserByEmail(ctx, "BOB@example.org"); err != nil || !got.EmailVerified || !got.Operator() ||
		got.Name != core.DefaultName(bob.ID) {
		t.Errorf("an operator: %+v, %v", got, err)
	}
	page, err := s.Users(ctx, core.Page{Limit: 1})
	if err != nil || len(page) != 1 || page[0].ID != u.ID {
		t.Fatalf("first page: %+v, %v", page, err)
	}
	if page, err = s.Users(ctx,
		core.Page{After: page[0].ID, Limit: 10}); err != nil || len(page) != 1 || page[0].ID != bob.ID {
		t.Errorf("second page: %+v, %v", page, err)
	}
	if _, err := s.User(ctx, core.NewID()); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
}

func TestUpdateUser(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "n.db"), db.Daemon)
	ctx := t.Context()
	const now core.Instant = 1_800_000_000_000
	u := core.NewUser("ann@example.org", now)
	u.EmailVerified = true
	for _, v := range []core.User{u, core.NewUser("bob@example.org", now)} {
		if err := s.AddUser(ctx, v, "hash", now); err != nil {
			t.Fatal(err)
		}
	}
	change := func(in identity.UserInput) core.User {
		t.Helper()
		got, err := s.UpdateUser(ctx, u.ID, in, now+1)
		if err != nil {
			t.Fatal(err)
		}
		if stored, err := s.User(ctx, u.ID); err != nil || stored.Email != got.Email || stored.Name != got.Name ||
			stored.EmailVerified != got.EmailVerified || stored.DisabledAt != got.DisabledAt {
			t.Errorf("stored %+v, answered %+v, %v", stored, got, err)
		}
		return got
	}
	if got := change(identity.UserInput{Name: new(" Ann ")}); got.Name != "Ann" || !got.EmailVerified {
		t.Errorf("name: %+v", got)
	}
	if got := change(identity.UserInput{Email: new(core.Email("ANN@example.org"))}); !got.EmailVerified {
		t.Errorf("another spelling: %+v", got)
	}
	if got := change(identity.UserInput{Email: new(core.Email("ann@example.com"))}); got.EmailVerified {
		t.Errorf("another address is not verified: %+v", got)
	}
	before, _ := s.User(ctx, u.ID)
	if got := change(identity.UserInput{Disabled: new(true)}); !got.Disabled() {
		t.Errorf("disabled: %+v", got)
	}
	after, _ := s.User(ctx, u.ID)
	if after.Epoch != before.Epoch+1 {
		t.Errorf("disabling leaves the epoch at %d", after.Epoch)
	}
	if got := change(identity.UserInput{Disabled: new(false)}); got.Disabled() {
		t.Errorf("enabled: %+v", got)
	}
	if _, err := s.UpdateUser(ctx, u.ID, identity.UserInput{Email: new(core.Email("BOB@example.org"))}, now); !errors.Is(
		err,
		identity.ErrUserExists,
	) {
		t.Errorf("somebody else's address: %v", err)
	}
	if _, err := s.UpdateUser(ctx, u.ID, identity.UserInput{Name: new("a\x00b")}, now); core.KindOf(err) != core.Invalid {
		t.Errorf("a control character: %v", err)
	}
	if _, err := s.UpdateUser(ctx, core.NewID(), identity.UserInput{}, now); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
}

func TestRoles(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "n.db"), db.Daemon)
	ctx := t.Context()
	const now core.Instant = 1_800_000_000_000
	u := core.NewUser("ann@example.org", now)
	if err := s.AddUser(ctx, u, "", now); err != nil {
		t.Fatal(err)
	}
	operator := core.Role{Role: core.RoleOperator}
	for _, c := range []struct {
		name string
		err  error
		want error
	}{
		{"grant", s.GrantRole(ctx, u.ID, operator, false, now), nil},
		{"grant again", s.GrantRole(ctx, u.ID, operator, false, now), nil},
		{"unknown tenant", s.GrantRole(ctx, u.ID, core.Role{Role: core.RoleTenantAdmin, TenantID: core.NewID()}, false,
			now), core.ErrNotFound},
		{"no tenant", s.GrantRole(ctx, u.ID, core.Role{Role: core.RoleTenantAdmin}, false, now), core.ErrInvalid},
		{"unknown role", s.GrantRole(ctx, u.ID, core.Role{Role: "root"}, false, now), core.ErrInvalid},
		{"unknown user", s.GrantRole(ctx, core.NewID(), operator, false, now), core.ErrNotFound},
		{"revoke", s.RevokeRole(ctx, u.ID, operator), nil},
		{"revoke again", s.RevokeRole(ctx, u.ID, operator), core.ErrNotFound},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.err, c.want)
		}
	}
	if got, err := s.User(ctx, u.ID); err != nil || len(got.Roles) != 0 || !got.EmailVerified {
		t.Errorf("%+v, %v", got, err)
	}
}

// Deleting a user removes all records of that user, and none of other users.
func TestDeleteUser(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "n.db"), db.Daemon)
	ctx := t.Context()
	const now core.Instant = 1_800_000_000_000
	var ids []string
	for _, email := range []core.Email{"ann@example.org", "bob@example.org"} {
		u := core.NewUser(email, now)
		u.Roles = []core.Role{{Role: core.RoleOperator}}
		if err := s.AddUser(ctx, u, "", now); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, u.ID)
		in := identity.SignIn{
			Family: core.Family{
				ID: core.NewID(), Kind: core.FamilyPassword, UserID: u.ID, ClientID: "newsletterd",
				CreatedAt: now, ExpiresAt: now + 1000,
			},
			RefreshHash: []byte(email), RefreshExpires: now + 1000, Devices: []string{"192.0.2.1"},
		}
		if err := s.AddSignIn(ctx, in, now); err != nil {
			t.Fatal(err)
		}
	}
	if f, err := s.Families(ctx, ids[0], now); err != nil || len(f) != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	if err := s.DeleteUser(ctx, ids[0]); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteUser(ctx, ids[0]); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("again: %v", err)
	}
	if f, err := s.Families(ctx, ids[1], now); err != nil || len(f) != 1 {
		t.Errorf("the other user's family: %+v, %v", f, err)
	}
	for _, table := range []string{"user", "role", "family", "refresh", "known_device"} {
		var n int
		if n = s.Count("SELECT count(*) FROM " + table); n != 1 {
			t.Errorf("%s has %d rows, want the other user's", table, n)
		}
	}
}
