package store

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db"
)

// TestBy checks that changes to another user's account are recorded with their actor, and that users' own changes are
// not recorded.
func TestBy(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	u := core.NewUser("ann@example.org", 1)
	op := db.By(t.Context(), "command:root", 7)
	must(t, s.AddUser(op, u, "", 1))
	must(t, s.GrantRole(op, u.ID, core.Role{Role: core.RoleOperator}, false, 1))
	other := core.NewUser("bob@example.org", 1)
	other.Roles = []core.Role{{Role: core.RoleOperator}}
	must(t, s.AddUser(op, other, "", 1))
	if rows, _, err := s.Audit(op, core.AuditFilter{Object: other.ID}, core.Page{Limit: 9}); err != nil ||
		len(rows) != 2 ||
		rows[1].Action != "role.grant.operator" ||
		rows[1].Changes != `{"roles":{"before":null,"after":["operator"]}}` || rows[0].Changes == "" {
		t.Errorf("%+v, %v; want the user, and the role that it came with", rows, err)
	}
	must(t, s.SetPassword(op, u.ID, "x", 1))
	must(t, s.SetPassword(t.Context(), u.ID, "y", 1))
	must(t, s.RevokeRole(op, u.ID, core.Role{Role: core.RoleOperator}))
	if err := s.RevokeRole(op, u.ID, core.Role{Role: core.RoleOperator}); err == nil {
		t.Error("a role was taken twice")
	}
	must(t, s.LogoutEverywhere(op, u.ID, 1))
	must(t, s.DeleteUser(op, u.ID))
	var got []string
	must(t, s.All(t.Context(), &got,
		"SELECT action FROM audit WHERE actor = 'command:root' AND at = 7 AND object = ? ORDER BY id", u.ID))
	want := []string{
		"user.create", "role.grant.operator", "user.password", "role.revoke.operator", "user.logout",
		"user.delete",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTheDaemonLogsWhatCommandsChange checks that the daemon logs the changes of commands once, because commands have
// no log of their own.
func TestTheDaemonLogsWhatCommandsChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	before := testOpen(t, path, db.Daemon)
	must(t, before.AddTenant(t.Context(), core.Tenant{ID: core.NewID(), Name: "old", Status: core.TenantActive},
		"command:root"))
	must(t, before.Close())
	var said bytes.Buffer
	s, err := Open(t.Context(), db.Options{Path: path, Log: slog.New(slog.NewTextHandler(&said, nil))})
	must(t, err)
	c := testOpen(t, path, db.Command)
	must(t,
		c.AddTenant(t.Context(), core.Tenant{ID: core.NewID(), Name: "one", Status: core.TenantActive}, "command:ann"))
	must(t, s.AddTenant(t.Context(), core.Tenant{ID: core.NewID(), Name: "two", Status: core.TenantActive}, "user:bob"))
	must(t, c.AddTenant(t.Context(), core.Tenant{ID: core.NewID(), Name: "three", Status: core.TenantActive},
		"command:ann"))
	must(t, put(s, "a", "1")) // the daemon checks for foreign commits before its own
	must(t, s.Close())
	log := said.String()
	for text, n := range map[string]int{
		"msg=audit": 3, "actor=command:ann action=tenant.create": 2,
		"actor=user:bob": 1,
	} {
		if got := strings.Count(log, text); got != n {
			t.Errorf("%q stands %d times in the log, want %d:\n%s", text, got, n, log)
		}
	}
	rows, _, err := c.Audit(t.Context(), core.AuditFilter{}, core.Page{Limit: 2})
	if err != nil || len(rows) != 2 || rows[0].Actor != "command:ann" || rows[1].Actor != "user:bob" {
		t.Errorf("%+v, %v; want the last two, the newest first", rows, err)
	}
}
