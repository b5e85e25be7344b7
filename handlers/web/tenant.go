package web

import (
	"context"
	"net"
	"strings"

	"newsletterd/core"
)

// TheTenant returns the tenant that a request is about: the one that it names, else the only one for which the caller
// may do what the route is for; core.TenantNone, which is all, for an operator who names none.
func TheTenant(c *Call, named string) (string, error) {
	tenants, all := c.Caller.TenantsWith(c.Action())
	switch {
	case named != "":
		c.Tenant = named
		return named, MayFor(c, named)
	case all:
		return core.TenantNone, nil
	case len(tenants) == 1:
		c.Tenant = tenants[0]
		return tenants[0], nil
	}
	return "", core.Invalidf("tenant_id", "tenant_id is missing. You have a role in several tenants, so choose one.")
}

// Actor names the caller in the audit trail.
func Actor(c *Call) string { return ActorOf(c.Caller) }

// ActorOf names a caller in the audit trail.
func ActorOf(caller core.Caller) string {
	if caller.UserID != "" {
		return core.UserActor(caller.UserID)
	}
	return core.ClientActor(caller.ClientID)
}

// IsOperator reports whether the caller may do everything.
func IsOperator(c *Call) bool { return c.Caller.May(core.ActionTenantManage, core.TenantNone) }

// OwnRecord turns the record of a tenant that the caller may not see into missing: it answers as one that isn't there.
// Who may see it, and not do what the route is for, is refused.
func OwnRecord(c *Call, tenant string, see core.Action, err error, missing *core.Error) error {
	switch {
	case core.KindOf(err) == core.NotFound:
		return missing
	case err != nil:
		return err
	case c.Caller.May(c.Action(), tenant):
		c.Tenant = tenant
		return nil
	case c.Caller.May(see, tenant):
		return core.Lacking(c.Action())
	}
	return missing
}

// TenantFilter narrows a list to one tenant.
type TenantFilter struct {
	TenantID string `query:"tenant_id"`
}

// TenantsFor lists the tenants that a list is read for.
func TenantsFor(c *Call, f TenantFilter) (tenants []string, all bool, err error) {
	if f.TenantID == "" {
		tenants, all = c.Caller.TenantsWith(c.Action())
		return tenants, all, nil
	}
	return []string{f.TenantID}, false, MayFor(c, f.TenantID)
}

// PageFor reads a page of the records of those tenants.
func PageFor[T any](c *Call, f TenantFilter, page core.Page,
	read func(ctx context.Context, tenants []string, all bool, page core.Page) ([]T, error),
) ([]T, error) {
	tenants, all, err := TenantsFor(c, f)
	if err != nil {
		return nil, err
	}
	return read(c, tenants, all, page)
}

// RowsOf makes the rows of an answer of records.
func RowsOf[T, R any](records []T, row func(*T) R) []R {
	rows := make([]R, len(records))
	for i := range records {
		rows[i] = row(&records[i])
	}
	return rows
}

// MayFor refuses a tenant, existing or not, for which the caller may not do what the route is for.
func MayFor(c *Call, tenant string) error {
	switch {
	case c.Caller.May(c.Action(), tenant):
		return nil
	case c.Caller.May(core.ActionFiguresRead, tenant):
		return core.Lacking(c.Action())
	}
	return core.Forbiddenf("You don't have access to this tenant. Ask one of its administrators.")
}

// MayGive refuses a tenant_id of a new record that isn't the caller's, existing or not.
func MayGive(c *Call, tenant string) error {
	c.Tenant = tenant
	return MayFor(c, tenant)
}

// UnknownTenant is what an operator is told about a tenant_id that is none.
func UnknownTenant(err error) error {
	if core.KindOf(err) == core.NotFound {
		return &core.Error{
			Kind: core.NotFound, Code: "not_found",
			Message: "Tenant not found. It may have been deleted, or you don't have access.",
			Field:   "tenant_id",
		}
	}
	return err
}

// HostOf is a host with its port in lower case, without the port that a scheme has anyway; empty for what is no host.
func HostOf(s string) string {
	s = strings.ToLower(s)
	if host, port, err := net.SplitHostPort(s); err == nil && (port == "443" || port == "80") {
		return host
	}
	return s
}

// VisitorCaller is what a user who is signed in may do on our own pages: all that the roles allow.
func VisitorCaller(who core.Visitor) core.Caller {
	return core.Caller{
		UserID: who.User.ID, Email: who.User.Email, EmailVerified: who.User.EmailVerified, FirstParty: true,
		Scopes: core.AllScopes, Roles: who.User.Roles,
	}
}

// RemoteOf is the caller's address as records keep it; empty where it is not known.
func RemoteOf(c *Call) string {
	if !c.Remote.IsValid() {
		return ""
	}
	return c.Remote.String()
}

// OneTenant is theTenant for records that no tenant has in common.
func OneTenant(c *Call, named string) (string, error) {
	tenant, err := TheTenant(c, named)
	if err == nil && tenant == core.TenantNone {
		err = core.Invalidf("tenant_id", "tenant_id is missing.")
	}
	return tenant, err
}
