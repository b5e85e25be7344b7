package web

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"newsletterd/core"
)

// Access is the rule that decides who may call a route. The zero Access is invalid: New returns an error for a route
// without a rule.
type Access struct{ *access }

type access struct {
	name    string
	bearer  bool // accepts an access token
	option  bool // the token is optional
	form    bool // also accepts the token as a form field
	people  bool // refuses clients that act for themselves, whatever their scopes
	scopes  []string
	action  core.Action       // the caller must have permission for it in at least one tenant; empty: none is needed
	fresh   bool              // requires users to have a fresh sign-in if the action needs one
	exports bool              // reading is an export, and requires a fresh sign-in whatever the action
	oneOf   bool              // one of the scopes is enough
	free    bool              // accepts every valid token: the operation exposes no user data
	gain    string            // what an optional token adds, for the OpenAPI documents
	rule    func(*Call) error // runs after the scope check; nil: no further rule
	signed  bool              // requires the four webhook headers

	proof *proof // for callers with a different kind of credential; nil: none
}

// proof describes how a caller without an access token or a webhook signature proves its identity.
type proof struct {
	callers string // description of the callers, for the OpenAPI documents
	header  string // name of the header with the proof, for the documents
	admit   func(*Call) error
}

// copied returns a copy that the caller may change. It isn't inlined, because that would enlarge the code for every
// route in the table.
//
//go:noinline
func (a Access) copied() Access {
	return Access{new(*a.access)}
}

func (a Access) String() string {
	words := []string{a.name}
	switch {
	case a.oneOf:
		words = append(words, strings.Join(a.scopes, "|"))
	case a.name != "admin": // the admin rule has the name of its scope
		words = append(words, a.scopes...)
	}
	if a.action != "" {
		words = append(words, string(a.action))
	}
	return strings.Join(words, " ")
}

// complete reports whether the rule is valid. A token rule without scopes is not: it would give each of a user's
// clients access to all of the user's data.
func (a Access) complete() bool {
	return a.access != nil && a.name != "" && (!a.bearer || a.option || a.free || len(a.scopes) > 0)
}

// meets reports whether the caller has the scopes that the rule requires.
func (a Access) meets(caller core.Caller) bool {
	if a.oneOf {
		return slices.ContainsFunc(a.scopes, caller.Has)
	}
	return !slices.ContainsFunc(a.scopes, func(scope string) bool { return !caller.Has(scope) })
}

// Public admits every caller and ignores tokens.
func Public() Access { return Access{&access{name: "public"}} }

// Bearer admits callers with a valid access token that has all of the scopes.
func Bearer(scopes ...string) Access {
	return Access{&access{name: "bearer", bearer: true, scopes: scopes}}
}

// BearerOf admits callers with a valid access token that has at least one of the scopes. For a refused caller,
// WWW-Authenticate names the first scope.
func BearerOf(scopes ...string) Access {
	return Access{&access{name: "bearer", bearer: true, oneOf: true, scopes: scopes}}
}

// AnyToken admits callers with a valid access token, whatever its scopes. Use it only for operations that expose no
// user data.
func AnyToken() Access { return Access{&access{name: "bearer", bearer: true, free: true}} }

// Optional admits every caller. A token is not required, but if the request has one, it must be valid and identifies
// the caller.
func Optional() Access { return Access{&access{name: "optional", bearer: true, option: true}} }

// Gains describes what an optional token adds, for the OpenAPI documents.
func (a Access) Gains(text string) Access { a = a.copied(); a.gain = ". " + text; return a }

// User admits users whose token has all of the scopes. It refuses clients that act for themselves, because they own no
// data.
func User(scopes ...string) Access {
	return Access{&access{name: "user", bearer: true, people: true, scopes: scopes}}
}

// People refuses clients that act for themselves, whatever their scopes.
func (a Access) People() Access { a = a.copied(); a.people = true; return a }

// InForm also accepts the token in the access_token field of a POSTed form (RFC 6750 section 2.2). A request that sends
// the token in both places is an error.
func (a Access) InForm() Access { a = a.copied(); a.form = true; return a }

// And adds a check of the caller, which runs after the scope check.
func (a Access) And(rule func(*Call) error) Access { a = a.copied(); a.rule = rule; return a }

// For admits callers who may perform the action for at least one tenant. The operation itself checks the record's
// tenant, with the action from Call.Action. A route that looks up its record before it reads the body admits every
// caller with a role. If the caller may not see that record, the response is the same as for a missing one.
func (a Access) For(action core.Action) Access { a = a.copied(); a.action = action; return a }

// Fresh requires users to have a fresh sign-in if the action is one of core.ProofActions.
func (a Access) Fresh() Access { a = a.copied(); a.fresh = true; return a }

// Exports requires a fresh sign-in even for reading, because the response contains a person's data or a whole list.
func (a Access) Exports() Access { a = a.copied(); a.exports = true; return a }

// asksProof reports whether the route requires a fresh sign-in.
func (r *Route) asksProof() bool {
	return r.Who.fresh && (r.Who.exports || r.Who.action.AsksProof(r.Method == "GET"))
}

// Named renames the rule. `newsletterd routes` shows the name.
func (a Access) Named(name string) Access { a = a.copied(); a.name = name; return a }

// Signed admits webhook clients that signed the request. Headers and timestamp are checked before the body is read, and
// the signature over the raw body before it is decoded. The webhook client becomes the caller: ClientID is set, and
// ClientTenant if the client is bound to a tenant.
func Signed() Access { return Access{&access{name: "signed", signed: true}} }

// Proved admits callers for whom admit returns nil. admit runs before the body is read, and may add checks of the body.
// The OpenAPI documents show callers, a description of these callers, and header, the name of the header with the
// proof.
func Proved(name, callers, header string, admit func(*Call) error) Access {
	return Access{&access{name: name, proof: &proof{callers, header, admit}}}
}

// admit applies the route's access rule.
func (c *Call) admit() error {
	who := c.route.Who
	if who.signed {
		check, err := c.frame.options.Signed(c, c.Request.Header, c.Request.URL.Path, c.Now)
		if err != nil {
			return err
		}
		c.checks = append(c.checks, func(body []byte) error {
			caller, err := check(body)
			c.Caller = caller
			return err
		})
	}
	if who.proof != nil {
		if err := who.proof.admit(c); err != nil {
			return err
		}
	}
	if who.bearer {
		if err := c.admitBearer(who); err != nil {
			return err
		}
	}
	if who.action != "" && !c.Caller.MaySomewhere(who.action) && (c.route.Do.find == nil || !c.Caller.HasRole()) {
		return core.Lacking(who.action)
	}
	if c.route.asksProof() {
		if err := c.FreshProof(); err != nil {
			return err
		}
	}
	if who.rule != nil {
		return who.rule(c)
	}
	return nil
}

// FreshProof returns core.ErrProofOld if the caller is a user whose sign-in is too old for operations that require a
// fresh one.
func (c *Call) FreshProof() error {
	if c.Caller.ProvedAt != 0 && !core.FreshProof(c.Caller.ProvedAt, c.Now) {
		return core.ErrProofOld
	}
	return nil
}

func (c *Call) admitBearer(who Access) error {
	if c.asked {
		return c.admitCaller(who)
	}
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
			return core.Invalidf("access_token", "The access token is sent twice. Send it once.")
		}
		token = cmp.Or(token, inForm)
	}
	if token == "" {
		if who.option {
			return nil
		}
		return core.ErrUnauthenticated
	}
	if c.Caller, err = c.frame.options.Bearer(c, token, c.Now); err != nil {
		return err
	}
	return c.admitCaller(who)
}

// admitCaller checks an authenticated caller against the rule.
func (c *Call) admitCaller(who Access) error {
	if who.people && c.Caller.UserID == "" {
		return core.Forbiddenf("Only users can do this. Sign in with a user account.")
	}
	if !who.meets(c.Caller) {
		return c.Lacks(who.oneOf, who.scopes...)
	}
	return nil
}

// Lacks returns the error for a token without these scopes. The message and WWW-Authenticate name the scopes (RFC 6750
// section 3.1). If one of several scopes is enough, the header names only the first.
func (c *Call) Lacks(oneOf bool, scopes ...string) error {
	c.wanted = scopes
	switch all := strings.Join(scopes, ", "); {
	case oneOf:
		c.wanted = scopes[:1]
		return core.ErrScope.Sayf("The token needs one of the scopes %s.", all)
	case len(scopes) == 1:
		return core.ErrScope.Sayf("The token needs the scope %s.", all)
	default:
		return core.ErrScope.Sayf("The token needs the scopes %s.", all)
	}
}

// formToken returns the access_token field of a form, or an empty string if there is none.
func (c *Call) formToken() (string, error) {
	if c.Request.Method != "POST" || !strings.HasPrefix(c.Request.Header.Get("Content-Type"), mediaTypes[formBody]) {
		return "", nil
	}
	if err := c.readBody(); err != nil {
		return "", err
	}
	q, err := url.ParseQuery(string(c.body))
	if err != nil || len(q["access_token"]) > 1 {
		return "", core.Invalidf("access_token", "The form is malformed. Reload the page and try again.")
	}
	return q.Get("access_token"), nil
}

// bearerToken returns the token in the Authorization header (RFC 6750 section 2.1) and ignores tokens in a form or a
// query. The header may appear only once.
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
