package web

import (
	"context"
	"net"
	"slices"
	"strings"

	"newsletterd/core"
)

// TheTenant returns the tenant for a request: named or, if named is empty, the only tenant for which the caller may
// perform the route's action. For a server administrator and an empty name, it returns core.TenantNone, which means all
// tenants.
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
	return "", core.Invalidf("tenant_id", "tenant_id is missing. You have roles in several tenants, so set the one "+
		"you mean.")
}

// Actor returns the caller's name in the audit log.
func Actor(c *Call) string { return ActorOf(c.Caller) }

// ActorOf returns a caller's name in the audit log.
func ActorOf(caller core.Caller) string {
	if caller.UserID != "" {
		return core.UserActor(caller.UserID)
	}
	return core.ClientActor(caller.ClientID)
}

// IsOperator reports whether the caller is a server administrator, who may manage all tenants.
func IsOperator(c *Call) bool { return c.Caller.May(core.ActionTenantManage, core.TenantNone) }

// OwnRecord returns missing if the caller may not see the records of the given tenant. The record then looks as if it
// didn't exist. If the caller may see the record but not perform the route's action, it returns a forbidden error.
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

// TenantFilter restricts a list to one tenant.
type TenantFilter struct {
	TenantID string `query:"tenant_id"`
}

// TenantsFor returns the tenants whose records a list contains. If all is true, it contains the records of all tenants.
func TenantsFor(c *Call, f TenantFilter) (tenants []string, all bool, err error) {
	if f.TenantID == "" {
		tenants, all = c.Caller.TenantsWith(c.Action())
		return tenants, all, nil
	}
	return []string{f.TenantID}, false, MayFor(c, f.TenantID)
}

// PageFor reads a page of the records of the tenants that TenantsFor returns.
func PageFor[T any](c *Call, f TenantFilter, page core.Page,
	read func(ctx context.Context, tenants []string, all bool, page core.Page) ([]T, error),
) ([]T, error) {
	tenants, all, err := TenantsFor(c, f)
	if err != nil {
		return nil, err
	}
	return read(c, tenants, all, page)
}

// RowsOf converts records to response rows with row.
func RowsOf[T, R any](records []T, row func(*T) R) []R {
	rows := make([]R, len(records))
	for i := range records {
		rows[i] = row(&records[i])
	}
	return rows
}

// MayFor returns an error if the caller may not perform the route's action for the tenant, whether or not the tenant
// exists.
func MayFor(c *Call, tenant string) error {
	switch {
	case c.Caller.May(c.Action(), tenant):
		return nil
	case c.Caller.May(core.ActionFiguresRead, tenant):
		return core.Lacking(c.Action())
	}
	return core.Forbiddenf("You don't have access to this tenant. Ask one of its administrators.")
}

// MayGive is like MayFor for the tenant_id of a new record. It also sets the log line's tenant.
func MayGive(c *Call, tenant string) error {
	c.Tenant = tenant
	return MayFor(c, tenant)
}

// UnknownTenant returns the error that a server administrator gets for an unknown tenant_id.
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

// Outsiders returns a function that reports whether an actor is an outsider of the tenant. An outsider belongs to
// another tenant, or is a user without a role in the tenant, such as a server administrator. The tenant's team must not
// see where such a user connected from.
func Outsiders(c *Call, tenant string) (func(actor string) bool, error) {
	team, err := c.Store().Teammates(c, tenant)
	return func(actor string) bool {
		return actor == core.AnotherTenant || strings.HasPrefix(actor, "user:") && !slices.Contains(team, actor)
	}, err
}

// HostOf returns s, a host with an optional port, in lower case and without the ports 80 and 443.
func HostOf(s string) string {
	s = strings.ToLower(s)
	if host, port, err := net.SplitHostPort(s); err == nil && (port == "443" || port == "80") {
		return host
	}
	return s
}

// VisitorCaller returns the caller for a user who is signed in on this server's own pages, with all rights that the
// user's roles grant.
func VisitorCaller(who core.Visitor) core.Caller {
	return core.Caller{
		UserID: who.User.ID, Email: who.User.Email, EmailVerified: who.User.EmailVerified, FirstParty: true,
		Scopes: core.AllScopes, Roles: who.User.Roles,
	}
}

// RemoteOf returns the caller's IP address in the format for storage, or an empty string if it is unknown.
func RemoteOf(c *Call) string {
	if !c.Remote.IsValid() {
		return ""
	}
	return c.Remote.String()
}

// OneTenant is like TheTenant, for records that always belong to a tenant. It never returns core.TenantNone without an
// error.
func OneTenant(c *Call, named string) (string, error) {
	tenant, err := TheTenant(c, named)
	if err == nil && tenant == core.TenantNone {
		err = core.Invalidf("tenant_id", "tenant_id is missing.")
	}
	return tenant, err
}
