package accesstest

import (
	"slices"
	"strings"

	"newsletterd/core"
)

// Caller is the caller of a request. Name describes it.
type Caller struct {
	core.Caller
	Name    string
	Headers []string // headers that identify the caller, as alternating names and values
}

// ScopeSets returns the sets of scopes to test for each caller: some single scopes, the usual scopes, and all scopes.
func ScopeSets() []string {
	return []string{
		"email", core.ScopeAdmin, core.ScopeSend, core.ScopeListRead, core.ScopeEventsWrite,
		"devices models.read models.write", core.ScopeAdmin + " " + core.ScopeSend, strings.Join(core.AllScopes, " "),
	}
}

// Callers returns all callers, once for each set of scopes: a user with each role in each tenant, a server
// administrator, a publisher who uses a tenant's client, and a user without a role who owns the same records as the
// first tenant's owner. It also returns clients that act for themselves: one per tenant, and one without a tenant. The
// last caller is unknown.
func (w *World) Callers() (all []Caller) {
	add := func(name string, c core.Caller) {
		for _, scopes := range ScopeSets() {
			c.Scopes = strings.Fields(scopes)
			all = append(all, Caller{Caller: c, Name: name + " with " + scopes})
		}
	}
	user := core.Caller{UserID: w.Tenants[0].Owner, EmailVerified: true, FirstParty: true}
	add("a user", user)
	user.UserID = core.NewID()
	add("a client of none", core.Caller{ClientID: core.NewID()})
	for _, role := range core.Roles {
		for _, t := range w.Tenants {
			held := core.Role{Role: role, TenantID: t.ID}
			if role == core.RoleOperator {
				held.TenantID = core.TenantNone
			}
			user.Roles = []core.Role{held}
			add(role+" of "+t.Marker, user)
			if role == core.RoleOperator || role == core.RolePublisher {
				bound := user
				bound.ClientTenant, bound.FirstParty = w.Tenants[0].ID, false
				add(role+" of "+t.Marker+" by a client of "+w.Tenants[0].Marker, bound)
			}
		}
	}
	for _, t := range w.Tenants {
		add("a client of "+t.Marker, core.Caller{ClientID: core.NewID(), ClientTenant: t.ID})
	}
	return append(all, Caller{Name: "nobody"})
}

// may reports whether the caller may perform an action in a tenant. It interprets core.Permissions, as printed in
// docs/roles.md, independently of the handlers.
func (c *Caller) may(a core.Action, tenant string) bool {
	row := slices.IndexFunc(core.Permissions, func(p core.Permission) bool { return p.Action == a })
	if row < 0 {
		return false
	}
	p := core.Permissions[row]
	rank := func(role string) int { return slices.Index(core.Roles, role) }
	if !slices.ContainsFunc(p.Scopes, func(s string) bool { return slices.Contains(c.Scopes, s) }) {
		return false
	}
	if c.ClientTenant != "" && tenant != c.ClientTenant {
		return false
	}
	if c.UserID == "" {
		return c.ClientTenant != "" && !p.People && rank(p.Least) <= rank(core.RoleTenantAdmin)
	}
	return slices.ContainsFunc(c.Roles, func(r core.Role) bool {
		role := r.Role
		if role == core.RoleOperator && c.ClientTenant != "" {
			role = core.RoleTenantAdmin
		}
		return (r.Role == core.RoleOperator || r.TenantID == tenant) && rank(role) >= rank(p.Least)
	})
}

// sees reports whether the caller may do anything in a tenant, or owns its records.
func (c *Caller) sees(t *Tenant) bool {
	return c.UserID == t.Owner || slices.ContainsFunc(core.Permissions, func(p core.Permission) bool {
		return c.may(p.Action, t.ID)
	})
}

func (c *Caller) hasRole() bool { return len(c.Roles) > 0 || c.UserID == "" && c.ClientTenant != "" }
