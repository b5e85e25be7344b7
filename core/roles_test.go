package core

import (
	"slices"
	"strings"
	"testing"
)

// TestRoles compares the permissions with the design. Each role that adds actions has one line.
func TestRoles(t *testing.T) {
	adds := map[string]string{
		RoleViewer:    "tenant.read list.read figures.read people.masked segment.read",
		RoleEditor:    "campaign.read campaign.write template.read template.write media.read media.write test.send segment.write",
		RolePublisher: "campaign.approve campaign.send test.anyone people.read people.add people.import people.tag",
		RoleTenantAdmin: "people.change people.export people.erase list.settings suppression.manage client.manage " +
			"client.secret endpoint.manage webhook.manage domain.propose dkim.read dkim.manage tenant.settings team.read team.manage audit.read",
		RoleOperator: "tenant.manage domain.verify relay.manage provider.manage key.manage outbox.manage " +
			"user.manage system.read",
	}
	var may []string
	for _, role := range Roles {
		may = append(may, strings.Fields(adds[role])...)
		held := Role{Role: role, TenantID: "mine"}
		if role == RoleOperator {
			held.TenantID = ""
		}
		for _, p := range Permissions {
			c := Caller{UserID: "u", Scopes: AllScopes, Roles: []Role{held}}
			want := slices.Contains(may, string(p.Action))
			if got := c.May(p.Action, "mine"); got != want {
				t.Errorf("%s may %s: %v", role, p.Action, got)
			}
			for _, other := range []string{"theirs", TenantNone} {
				if got := c.May(p.Action, other); got != (role == RoleOperator) {
					t.Errorf("%s of another tenant may %s for %q: %v", role, p.Action, other, got)
				}
			}
			tenants, all := c.TenantsWith(p.Action)
			if all != (role == RoleOperator) || (len(tenants) > 0) != (want && !all) {
				t.Errorf("%s may %s for %v, %v", role, p.Action, tenants, all)
			}
		}
	}
	if len(may) != len(Permissions) || len(permissions) != len(Permissions) {
		t.Errorf("%d actions, %d rows, %d different", len(may), len(Permissions), len(permissions))
	}
}

// TestMay tests combinations of roles with scopes, clients and pending roles.
func TestMay(t *testing.T) {
	admin, viewer := Role{Role: RoleTenantAdmin, TenantID: "a"}, Role{Role: RoleViewer, TenantID: "b"}
	operator := Role{Role: RoleOperator}
	user := func(scopes string, clientTenant string, roles ...Role) Caller {
		return Caller{UserID: "u", Scopes: strings.Fields(scopes), ClientTenant: clientTenant, Roles: roles}
	}
	client := func(scopes, tenant string) Caller {
		return Caller{ClientID: "c", Scopes: strings.Fields(scopes), ClientTenant: tenant}
	}
	for _, c := range []struct {
		name   string
		caller Caller
		action Action
		tenant string
		want   bool
		list   string // of TenantsWith; "*": all
	}{
		{"nobody", Caller{}, ActionListRead, TenantNone, false, ""},
		{"a user without roles", user("admin", ""), ActionListRead, "a", false, ""},
		{"an unknown action", user("admin", "", operator), "list.burn", "a", false, ""},
		{"two roles, the greater", user("admin", "", admin, viewer), ActionListSettings, "a", true, "a"},
		{"two roles, the lesser", user("admin", "", admin, viewer), ActionListSettings, "b", false, "a"},
		{"two roles, what both may", user("admin", "", admin, viewer), ActionListRead, "b", true, "a b"},
		{"without the scope", user("email newsletter:send", "", admin), ActionListSettings, "a", false, ""},
		{"by the other scope", user("newsletter:send", "", admin), ActionCampaignSend, "a", true, "a"},
		{"an operator without the scope", user("email", "", operator), ActionListRead, "a", false, ""},
		{"pending", user("admin", "", Role{Role: RoleOperator, Pending: true}), ActionListRead, "a", false, ""},
		{"by the own tenant's client", user("admin", "a", admin), ActionListSettings, "a", true, "a"},
		{"by another tenant's client", user("admin", "b", admin), ActionListSettings, "a", false, ""},
		{"another tenant's client, there", user("admin", "b", admin), ActionListSettings, "b", false, ""},
		{"an operator by a tenant's client", user("admin", "a", operator), ActionListSettings, "a", true, "a"},
		{"and elsewhere", user("admin", "a", operator), ActionListSettings, "b", false, "a"},
		{"and what operators may", user("admin", "a", operator), ActionRelayManage, "a", false, ""},
		{"a role in no tenant", user("admin", "", Role{Role: RoleTenantAdmin}), ActionListRead, TenantNone, false, ""},
		{"an unknown role", user("admin", "", Role{Role: "boss", TenantID: "a"}), ActionListRead, "a", false, ""},
		{"a client", client("newsletter:send", "a"), ActionCampaignSend, "a", true, "a"},
		{"a client elsewhere", client("newsletter:send", "a"), ActionCampaignSend, "b", false, "a"},
		{"a client without the scope", client("newsletter:send", "a"), ActionListSettings, "a", false, ""},
		{"a client of no tenant", client("admin", ""), ActionListRead, TenantNone, false, ""},
		{"a client that invites", client("admin", "a"), ActionTeamManage, "a", false, ""},
		{"a client and the operator's", client("admin", "a"), ActionRelayManage, "a", false, ""},
	} {
		got := c.caller.May(c.action, c.tenant)
		tenants, all := c.caller.TenantsWith(c.action)
		list := strings.Join(tenants, " ")
		if all {
			list += "*"
		}
		if got != c.want || list != c.list || c.caller.MaySomewhere(c.action) != (c.list != "") {
			t.Errorf("%s: may %v, for %q", c.name, got, list)
		}
	}
}
