package web

import "newsletterd/core"

// Subscription lets in tokens with the scope email, for the subscriptions of the user's own address, and those with a
// scope of people who manage lists. A client's token reaches lists of the client's own tenant only, so a client
// without one has nothing to look at.
func Subscription(manage string) Access {
	return BearerOf(core.ScopeEmail, manage).And(func(c *Call) error {
		if !c.Caller.FirstParty && c.Caller.ClientTenant == core.TenantNone {
			return core.Forbiddenf("The client belongs to no tenant. Use a client of the list's tenant.")
		}
		return nil
	})
}

// ProfileToken lets in tokens of users with a scope that shows something of the user.
func ProfileToken() Access {
	return BearerOf(core.ScopeOpenID, core.ScopeProfile, core.ScopeEmail).People()
}

// Admin lets in tokens with the scope admin whose caller may do the action for at least one tenant, by a fresh sign-in
// where the action asks for one.
func Admin(action core.Action) Access {
	return Bearer(core.ScopeAdmin).Named("admin").For(action).Fresh()
}

// Sending lets in tokens for sending whose caller may do the action for at least one tenant.
func Sending(action core.Action) Access { return Bearer(core.ScopeSend).For(action) }

// Sent is sending for what changes and sends nothing: the scope admin will do, too.
func Sent(action core.Action) Access {
	return BearerOf(core.ScopeSend, core.ScopeAdmin).For(action)
}
