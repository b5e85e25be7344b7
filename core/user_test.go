package core

import (
	"strings"
	"testing"
)

func TestUserValidate(t *testing.T) {
	for _, c := range []struct {
		name, email string
		want        string // the name afterwards; empty: invalid
	}{
		{" Ann ", "ann@example.org", "Ann"},
		{"", "ann@example.org", "User 89ab"},
		{"   ", "ann@example.org", "User 89ab"},
		{strings.Repeat("ä", 100), "ann@example.org", strings.Repeat("ä", 100)},
		{strings.Repeat("ä", 101), "ann@example.org", ""},
		{"a\nb", "ann@example.org", ""},
		{"a\xff", "ann@example.org", ""},
		{"Ann", "ann", ""},
	} {
		u := User{ID: "0198a0b0-0000-7000-8000-0123456789ab", Name: c.name, Email: Email(c.email)}
		err := u.Validate()
		if (err == nil) != (c.want != "") || (err == nil && u.Name != c.want) {
			t.Errorf("%q %s: %q, %v", c.name, c.email, u.Name, err)
		}
	}
}

func TestRoleValidate(t *testing.T) {
	for r, want := range map[Role]bool{
		{Role: RoleOperator}: true, {Role: RoleOperator, TenantID: "t"}: false, {
			Role:     RoleTenantAdmin,
			TenantID: "t",
		}: true,
		{Role: RoleTenantAdmin}: false, {}: false, {Role: "boss", TenantID: "t"}: false,
		{Role: RoleViewer, TenantID: "t"}: true, {Role: RoleViewer}: false, {Role: RoleEditor, TenantID: "t"}: true,
		{Role: RolePublisher, TenantID: "t"}: true,
	} {
		if err := r.Validate(); (err == nil) != want {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func TestUserRoles(t *testing.T) {
	u := User{Roles: []Role{{Role: RoleTenantAdmin, TenantID: "a"}, {Role: RoleTenantAdmin, TenantID: "b"}}}
	if u.Operator() {
		t.Error("an operator")
	}
	u.Roles = append(u.Roles, Role{Role: RoleOperator})
	if !u.Operator() {
		t.Error("no operator")
	}
	if n := NewUser("secret@example.org", 5); strings.Contains(n.Name,
		"secret") || n.CreatedAt != 5 || n.EmailVerified {
		t.Errorf("%+v", n)
	}
}
