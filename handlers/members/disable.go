package members

import (
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/members"
)

// disabling holds the refusals for requests to block an address.
var disabling = []web.Refusal{
	web.Refused("disable_scope", "Callers bound to a tenant can only use tenant"), web.BadEmail,
}

type disableSubscriptionRequest struct {
	Email      core.Email   `json:"email" is:"required"`
	Reason     string       `json:"reason" is:"required"`
	DisabledBy string       `json:"disabled_by" is:"required"`
	OccurredAt core.Instant `json:"occurred_at" is:"required"`
	Scope      string       `json:"disable_scope" enum:"global|tenant"` // empty: the server's setting
}

func (r *disableSubscriptionRequest) CheckInput() error {
	for _, f := range []struct{ name, text string }{{"reason", r.Reason}, {"disabled_by", r.DisabledBy}} {
		if len(f.text) > core.MaxOrigin {
			return core.Invalidf(f.name, "%s must have at most %d bytes.", f.name, core.MaxOrigin)
		}
	}
	return nil
}

type disabled struct {
	Email         core.Email `json:"email"`
	Disabled      bool       `json:"disabled" about:"Always true"`
	Subscriptions int        `json:"subscriptions" about:"Number of subscriptions that were ended"`
}

// Values of disable_scope, a setting in [newsletter] and a field of the request.
const (
	disableGlobal = "global"
	disableTenant = "tenant"
)

// disableIn returns the tenants for which a request blocks an address. An empty string means all tenants. Callers bound
// to tenants can block it for their own tenants. They can block it everywhere only if disable_scope in the
// configuration allows that.
func (a newsletter) disableIn(scope string, tenants []string, all bool) ([]string, error) {
	everywhere := []string{""}
	switch {
	case all && scope == disableTenant:
		return nil, core.Invalidf("disable_scope",
			"disable_scope can be tenant only if your token belongs to a tenant. Leave it out.")
	case all:
		return everywhere, nil
	case scope == disableGlobal && a.Options.DisableScope == disableTenant:
		return nil, core.Forbiddenf(
			"On this server, tenants can only block addresses for themselves. Set disable_scope to tenant.")
	case scope == disableTenant, a.Options.DisableScope == disableTenant:
		return tenants, nil
	}
	return everywhere, nil
}

// disable blocks an address everywhere or for the caller's tenants.
func (a newsletter) disable(c *web.Call, in disableSubscriptionRequest) (out disabled, err error) {
	tenants, all := c.Caller.TenantsWith(core.ActionSuppressionManage)
	if !all && len(tenants) == 0 {
		return out, core.Forbiddenf("This token doesn't belong to a tenant. Use a token that does.")
	}
	d := members.DisableRequest{
		Email: in.Email, Reason: in.Reason, DisabledBy: in.DisabledBy, OccurredAt: in.OccurredAt,
		Actor: web.Actor(c),
	}
	scopes, err := a.disableIn(in.Scope, tenants, all)
	if err != nil {
		return out, err
	}
	if !all {
		d.Counted = tenants
	}
	out = disabled{Email: in.Email, Disabled: true}
	for _, d.TenantID = range scopes {
		n, err := a.Store.Disable(c, d, c.Now)
		if err != nil {
			return out, err
		}
		out.Subscriptions += n
	}
	return out, nil
}
