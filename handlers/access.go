package handlers

import (
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/mail/report"
)

// subscription lets in tokens with the scope email, for the subscriptions of the user's own address, and those with a
// scope of people who manage lists. A client's token reaches lists of the client's own tenant only, so a client
// without one has nothing to look at.
func subscription(manage string) web.Access {
	return web.BearerOf(core.ScopeEmail, manage).And(func(c *web.Call) error {
		if !c.Caller.FirstParty && c.Caller.ClientTenant == core.TenantNone {
			return core.Forbiddenf("The client belongs to no tenant. Use a client of the list's tenant.")
		}
		return nil
	})
}

// profileToken lets in tokens of users with a scope that shows something of the user.
func profileToken() web.Access {
	return web.BearerOf(core.ScopeOpenID, core.ScopeProfile, core.ScopeEmail).People()
}

// admin lets in tokens with the scope admin whose caller may do the action for at least one tenant, by a fresh sign-in
// where the action asks for one.
func admin(action core.Action) web.Access {
	return web.Bearer(core.ScopeAdmin).Named("admin").For(action).Fresh()
}

// sending lets in tokens for sending whose caller may do the action for at least one tenant.
func sending(action core.Action) web.Access { return web.Bearer(core.ScopeSend).For(action) }

// sent is sending for what changes and sends nothing: the scope admin will do, too.
func sent(action core.Action) web.Access {
	return web.BearerOf(core.ScopeSend, core.ScopeAdmin).For(action)
}

// mailProvider lets in the mail provider that the path names, proved over the raw body in the way of its kind.
func (h *Handler) mailProvider() web.Access {
	return web.Proved("provider", "mail providers, authenticated as their kind requires", report.HeaderSignature,
		h.admitProvider)
}

// theTenant returns the tenant that a request is about: the one that it names, else the only one for which the caller
// may do what the route is for; core.TenantNone, which is all, for an operator who names none.
func theTenant(c *web.Call, named string) (string, error) {
	tenants, all := c.Caller.TenantsWith(c.Action())
	switch {
	case named != "":
		c.Tenant = named
		return named, mayFor(c, named)
	case all:
		return core.TenantNone, nil
	case len(tenants) == 1:
		c.Tenant = tenants[0]
		return tenants[0], nil
	}
	return "", core.Invalidf("tenant_id", "tenant_id is missing. You have a role in several tenants, so choose one.")
}
