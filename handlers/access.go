package handlers

import (
	"cmp"
	"strings"

	"newsletterd/core"
)

// Access says who may call a route. The zero Access is invalid: a route without a rule does not start.
type Access struct {
	name   string
	bearer bool // takes an access token
	option bool // … but does without
	form   bool // … also in a form
	scopes []string
	rule   func(*Call) error // after the scopes; nil: nothing more
	signed bool              // by the four webhook headers

	provider bool // a mail provider, in the way of its kind
}

func (a Access) String() string {
	if len(a.scopes) > 0 {
		return a.name + " " + strings.Join(a.scopes, " ")
	}
	return a.name
}

// public lets everybody in. A token is not looked at.
func public() Access { return Access{name: "public"} }

// bearer lets in whoever carries a valid access token with all of the scopes.
func bearer(scopes ...string) Access {
	return Access{name: "bearer", bearer: true, scopes: scopes}
}

// optional lets everybody in; a token that is sent must be valid, and then the caller is known.
func optional() Access { return Access{name: "optional", bearer: true, option: true} }

// user lets in people, with whatever scopes: a client that acts for itself owns nothing.
func user() Access {
	return Access{name: "user", bearer: true, rule: func(c *Call) error {
		if c.Caller.UserID == "" {
			return core.Forbiddenf("Only users may do this.")
		}
		return nil
	}}
}

// admin lets in operators, and administrators of at least one tenant.
func admin() Access {
	return Access{name: "admin", bearer: true, scopes: []string{core.ScopeAdmin}, rule: func(c *Call) error {
		if tenants, all := c.Caller.TenantScope(); !all && len(tenants) == 0 {
			return core.Forbiddenf("Only operators and administrators of a tenant may do this.")
		}
		return nil
	}}
}

// signed lets in webhook clients that have signed the request (contract 6). Headers and timestamp are
// checked before the body is read, the signature over the raw body before it is decoded. The caller is
// then the webhook client: ClientID, and ClientTenant when it is bound to one.
func signed() Access { return Access{name: "signed", signed: true} }

// mailProvider lets in the mail provider that the path names, proved over the raw body in the way of its kind.
func mailProvider() Access { return Access{name: "provider", provider: true} }

// admit runs the access rule of the route.
func (c *Call) admit() error {
	who := c.route.Who
	if who.signed {
		check, err := c.api.options.Signed(c, c.Request.Header, c.Request.URL.Path, c.Now)
		if err != nil {
			return err
		}
		c.checks = append(c.checks, func(body []byte) error {
			caller, err := check(body)
			c.Caller = caller
			return err
		})
	}
	if who.provider {
		if err := c.admitProvider(); err != nil {
			return err
		}
	}
	if who.bearer {
		if err := c.admitBearer(who); err != nil {
			return err
		}
	}
	if who.rule != nil {
		return who.rule(c)
	}
	return nil
}

func (c *Call) admitBearer(who Access) error {
	token, err := c.bearerToken()
	if err != nil {
		return err
	}
	if who.form {
		inForm, err := c.formToken()
		if err != nil {
			return err
		}
		if token != "" && inForm != "" {
			return core.Invalidf("access_token", "The access token is given twice.")
		}
		token = cmp.Or(token, inForm)
	}
	if token == "" {
		if who.option {
			return nil
		}
		return core.ErrUnauthenticated
	}
	if c.Caller, err = c.api.options.Bearer(c, token, c.Now); err != nil {
		return err
	}
	for _, scope := range who.scopes {
		if !c.Caller.Has(scope) {
			return core.ErrScope
		}
	}
	return nil
}

// bearerToken is the token of the Authorization header (RFC 6750 section 2.1); tokens in a form or a
// query are not looked at. The header may stand once.
func (c *Call) bearerToken() (string, error) {
	values := c.Request.Header["Authorization"]
	if len(values) == 0 {
		return "", nil
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", core.ErrUnauthenticated
	}
	return token, nil
}
