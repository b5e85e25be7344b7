package store

import (
	"path/filepath"
	"slices"
	"testing"

	"newsletterd/core"
)

// TestBy: what somebody does to another's account is written down with who did it; what users do for themselves is not.
func TestBy(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	u := core.NewUser("ann@example.org", 1)
	op := By(t.Context(), "command:root", 7)
	must(t, s.AddUser(op, u, "", 1))
	must(t, s.GrantRole(op, u.ID, core.Role{Role: core.RoleOperator}, 1))
	must(t, s.SetPassword(op, u.ID, "x", 1))
	must(t, s.SetPassword(t.Context(), u.ID, "y", 1))
	must(t, s.RevokeRole(op, u.ID, core.Role{Role: core.RoleOperator}))
	if err := s.RevokeRole(op, u.ID, core.Role{Role: core.RoleOperator}); err == nil {
		t.Error("a role was taken twice")
	}
	must(t, s.LogoutEverywhere(op, u.ID, 1))
	must(t, s.DeleteUser(op, u.ID))
	var got []string
	must(t, s.all(t.Context(), &got, "SELECT action FROM audit WHERE actor = 'command:root' AND at = 7 AND object = ? ORDER BY id", u.ID))
	want := []string{"user.create", "role.grant.operator", "user.password", "role.revoke.operator", "user.logout", "user.delete"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
