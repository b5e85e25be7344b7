package store

import (
	"path/filepath"
	"slices"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/identity"
)

// TestATeamRoleStaysPending checks that a changed role doesn't take effect before the address is verified, and that
// roles in other tenants stay unchanged.
func TestATeamRoleStaysPending(t *testing.T) {
	n := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	home := core.Tenant{ID: core.NewID(), Name: "home", Status: core.TenantActive}
	other := core.Tenant{ID: core.NewID(), Name: "other", Status: core.TenantActive}
	must(t, n.AddTenant(t.Context(), home, "test"))
	must(t, n.AddTenant(t.Context(), other, "test"))
	u := core.NewUser("ann@example.org", 1)
	must(t, n.AddUser(t.Context(), u, "h", 1))
	n.SQL("UPDATE user SET self_registered = 1")
	for _, tenant := range []string{home.ID, other.ID} {
		must(t, n.GrantRole(t.Context(), u.ID, core.Role{Role: core.RoleEditor, TenantID: tenant}, false, 1))
	}
	got, err := n.SetTeamRole(t.Context(), home.ID, u.ID, core.RoleTenantAdmin, "test", 2)
	if err != nil || !got.Pending || !slices.Equal(got.Roles, core.Strings{core.RoleTenantAdmin}) {
		t.Errorf("%+v, %v", got, err)
	}
	if is, err := n.IsTeammate(t.Context(), home.ID, u.Email); err != nil || is {
		t.Errorf("an address that no one has proved is of the team: %v", err)
	}
	must(t, n.LeaveTeam(t.Context(), home.ID, u.ID, "test", 3))
	if _, err := n.SetTeamRole(t.Context(), home.ID, u.ID, core.RoleViewer, "test", 4); core.KindOf(err) != core.NotFound {
		t.Errorf("%v", err)
	}
	if teams, err := n.TeamsOf(t.Context(), u.ID); err != nil || !slices.Equal(teams, []string{other.ID}) {
		t.Errorf("%v, %v", teams, err)
	}
	if in, err := n.Team(t.Context(), other.ID, core.Page{Limit: 9}); err != nil || len(in) != 1 ||
		!slices.Equal(in[0].Roles, core.Strings{core.RoleEditor}) {
		t.Errorf("%+v, %v", in, err)
	}
}

// When users lose their last role in a tenant, the open invitations there that they created, or that are addressed to
// them, end. Invitations of other tenants and users stay.
func TestInvitationsEndWithTheLastRole(t *testing.T) {
	n := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	home := core.Tenant{ID: core.NewID(), Name: "home", Status: core.TenantActive}
	other := core.Tenant{ID: core.NewID(), Name: "other", Status: core.TenantActive}
	must(t, n.AddTenant(t.Context(), home, "test"))
	must(t, n.AddTenant(t.Context(), other, "test"))
	u := core.NewUser("ann@example.org", 1)
	must(t, n.AddUser(t.Context(), u, "h", 1))
	for _, end := range []func(core.Role) error{
		func(core.Role) error { return n.LeaveTeam(t.Context(), home.ID, u.ID, "test", 3) },
		func(r core.Role) error { return n.RevokeRole(db.By(t.Context(), "test", 3), u.ID, r) },
	} {
		role := core.Role{Role: core.RoleTenantAdmin, TenantID: home.ID}
		must(t, n.GrantRole(t.Context(), u.ID, role, false, 1))
		invite := func(tenant string, email core.Email, by string) string {
			token := identity.UserToken{
				ID:     core.NewID(),
				Hashes: map[string][]byte{identity.TokenInvitation: []byte(core.NewID())},
			}
			i, err := n.AddInvitation(t.Context(), core.InvitationInput{TenantID: tenant, Role: core.RoleEditor, Email: email},
				token, by, 1)
			must(t, err)
			return i.ID
		}
		gone := []string{
			invite(home.ID, "new@example.org", core.UserActor(u.ID)),
			invite(home.ID, "Ann@example.org", "user:x"),
		}
		kept := []string{invite(other.ID, "ann@example.org", "user:x"), invite(home.ID, "else@example.org", "user:x")}
		must(t, end(role))
		for _, id := range gone {
			if _, err := n.Invitation(t.Context(), id); core.KindOf(err) != core.NotFound || err == nil {
				t.Error("is still open:", err)
			}
		}
		for _, id := range kept {
			if _, err := n.Invitation(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
		rows, _, err := n.Audit(t.Context(), core.AuditFilter{Action: "role.revoke", Object: u.ID}, core.Page{Limit: 1})
		if err != nil || len(rows) != 1 || string(rows[0].Changes) !=
			`{"invitations":{"before":2,"after":0},"roles":{"before":["tenant_admin"],"after":null}}` {
			t.Error(rows, err)
		}
	}
}
