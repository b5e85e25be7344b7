package web

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"newsletterd/core"
)

// Access says who may call a route. The zero Access is invalid: a route without a rule does not start.
type Access struct{ *access }

type access struct {
	name    string
	bearer  bool // takes an access token
	option  bool // … but does without
	form    bool // … also in a form
	people  bool // refuses a client that acts for itself, whatever its scopes
	scopes  []string
	action  core.Action       // that the caller may do for at least one tenant; empty: none is asked for
	fresh   bool              // the sign-in of a user must be a fresh one, where the action asks for that
	exports bool              // reading is an export, which asks as a change does
	oneOf   bool              // one of the scopes is enough
	free    bool              // every valid token will do: the operation opens nothing of the user's
	rule    func(*Call) error // after the scopes; nil: nothing more
	signed  bool              // by the four webhook headers

	proof *proof // of a caller that proves itself in a way of its own; nil: none
}

// proof is how a caller proves itself who has neither a token nor a signature of ours.
type proof struct {
	callers string // in the documents: who they are
	header  string // in the documents: that carries the proof
	admit   func(*Call) error
}

// copied returns a rule that can be changed. It is not inlined, as each line of the table would be larger.
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
	case a.name != "admin": // whose scope is its name
		words = append(words, a.scopes...)
	}
	if a.action != "" {
		words = append(words, string(a.action))
	}
	return strings.Join(words, " ")
}

// complete reports whether the rule says which tokens it takes. A rule for tokens that names no scope would give each
// client of a user everything of that user.
func (a Access) complete() bool {
	return a.access != nil && a.name != "" && (!a.bearer || a.option || a.free || len(a.scopes) > 0)
}

// meets reports whether the scopes of a caller are those that the rule asks for.
func (a Access) meets(caller core.Caller) bool {
	if a.oneOf {
		return slices.ContainsFunc(a.scopes, caller.Has)
	}
	return !slices.ContainsFunc(a.scopes, func(scope string) bool { return !caller.Has(scope) })
}

// Public lets every caller in. A token is not looked at.
func Public() Access { return Access{&access{name: "public"}} }

// Bearer lets in callers with a valid access token with all of the scopes.
func Bearer(scopes ...string) Access {
	return Access{&access{name: "bearer", bearer: true, scopes: scopes}}
}

// BearerOf lets in callers with a valid access token with at least one of the scopes. A refused caller gets the
// first in WWW-Authenticate.
func BearerOf(scopes ...string) Access {
	return Access{&access{name: "bearer", bearer: true, oneOf: true, scopes: scopes}}
}

// AnyToken lets in callers with a valid access token, whatever its scopes. It is for operations that open nothing of
// the user's.
func AnyToken() Access { return Access{&access{name: "bearer", bearer: true, free: true}} }

// Optional lets every caller in; a token that is sent must be valid, and then the caller is known.
func Optional() Access { return Access{&access{name: "optional", bearer: true, option: true}} }

// User lets in tokens of users with all of the scopes. A client that acts for itself owns nothing.
func User(scopes ...string) Access {
	return Access{&access{name: "user", bearer: true, people: true, scopes: scopes}}
}

// People refuses a client that acts for itself, whatever its scopes.
func (a Access) People() Access { a = a.copied(); a.people = true; return a }

// InForm also takes the token as access_token in a form sent by POST (RFC 6750 section 2.2). Both at once is an error.
func (a Access) InForm() Access { a = a.copied(); a.form = true; return a }

// And adds a rule about the caller, which runs after the scopes are checked.
func (a Access) And(rule func(*Call) error) Access { a = a.copied(); a.rule = rule; return a }

// For lets in callers who may do the action for at least one tenant. Whether they may for the tenant of the record is
// asked by the operation, which finds it with Call.Action. A route that finds its record before the body is read lets
// in all who have a role, so that a record they may not see is missing.
func (a Access) For(action core.Action) Access { a = a.copied(); a.action = action; return a }

// Fresh has the rule ask for a fresh sign-in of a user where its action does (core.ProofActions).
func (a Access) Fresh() Access { a = a.copied(); a.fresh = true; return a }

// Exports has the rule ask for a fresh sign-in of one who reads, too, where its action does.
func (a Access) Exports() Access { a = a.copied(); a.exports = true; return a }

// asksProof reports whether the route wants a fresh sign-in.
func (r *Route) asksProof() bool {
	return r.Who.fresh && r.Who.action.AsksProof(r.Method == "GET" && !r.Who.exports)
}

// Named returns the rule with another name, which `newsletterd routes` shows.
func (a Access) Named(name string) Access { a = a.copied(); a.name = name; return a }

// Signed lets in webhook clients that have signed the request. Headers and timestamp are
// checked before the body is read, the signature over the raw body before it is decoded. The caller is
// then the webhook client: ClientID, and ClientTenant when it is bound to one.
func Signed() Access { return Access{&access{name: "signed", signed: true}} }

// Proved lets in callers that prove themselves in a way of their own, which admit checks. It runs before the body is
// read and may add checks of the body. The documents say who the callers are, and which header carries the proof.
func Proved(name, callers, header string, admit func(*Call) error) Access {
	return Access{&access{name: name, proof: &proof{callers, header, admit}}}
}

// admit runs the access rule of the route.
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

// FreshProof returns core.ErrProofOld for a user's token whose sign-in is too old for what asks for a fresh one.
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

// admitCaller checks a caller who is known against the rule.
func (c *Call) admitCaller(who Access) error {
	if who.people && c.Caller.UserID == "" {
		return core.Forbiddenf("Only users can do this. Sign in with a user account.")
	}
	if !who.meets(c.Caller) {
		return c.Lacks(who.oneOf, who.scopes...)
	}
	return nil
}

// Lacks makes the error about missing scopes. It names them, also in WWW-Authenticate (RFC 6750 section 3.1); of
// alternatives, the header names the first.
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

// formToken reads access_token of a form; empty where there is none.
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
