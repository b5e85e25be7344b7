package web

import "newsletterd/core"

// Subscription accepts tokens with the scope email, for subscriptions of the user's own address, and tokens with the
// scope manage. A client's token gives access only to lists of the client's tenant, so clients without a tenant see no
// lists.
func Subscription(manage string) Access {
	return BearerOf(core.ScopeEmail, manage).And(func(c *Call) error {
		if !c.Caller.FirstParty && c.Caller.ClientTenant == core.TenantNone {
			return core.Forbiddenf("The client doesn't belong to a tenant. Use a client of the list's tenant.")
		}
		return nil
	})
}

// ProfileToken accepts users' tokens with at least one scope that exposes user data.
func ProfileToken() Access {
	return BearerOf(core.ScopeOpenID, core.ScopeProfile, core.ScopeEmail).People()
}

// Admin accepts tokens with the scope admin whose caller may perform the action for at least one tenant. If the action
// requires a fresh sign-in, the route does, too.
func Admin(action core.Action) Access {
	return Bearer(core.ScopeAdmin).Named("admin").For(action).Fresh()
}

// Sending accepts tokens with the scope send whose caller may perform the action for at least one tenant.
func Sending(action core.Action) Access { return Bearer(core.ScopeSend).For(action) }

// Sent is like Sending, for operations that change something but don't send email. It also accepts the scope admin.
func Sent(action core.Action) Access {
	return BearerOf(core.ScopeSend, core.ScopeAdmin).For(action)
}
