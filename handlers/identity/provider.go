package identity

import (
	"encoding/json"
	"net/http"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
)

// openID serves the requests of relying parties, except those for tokens.
type openID struct {
	auth      *auth.Provider
	discovery []byte // created once: it doesn't depend on the request
}

// providerRoutes adds the routes that relying parties use besides those for tokens, sign-in and sign-out.
func (r *Room) providerRoutes(t *web.Table) {
	e := newOpenID(r.Auth)
	open := func(do web.Endpoint) web.Endpoint { return do.CORS(e.clientOrigin, "Authorization") }
	t.Add("GET", "/api/oauth/userinfo", web.Bearer(core.ScopeOpenID), web.Member,
		open(web.Get(e.userinfo)), "Show claims about the user (OpenID Connect Core section 5.3)").Named("getUserInfo")
	t.Add("POST", "/api/oauth/userinfo", web.Bearer(core.ScopeOpenID).InForm(), web.Member,
		open(web.Get(e.userinfo)).MaxBody(web.MaxForm).Fails(core.Invalid),
		"Show claims about the user; the token can be a form field").Named("getUserInfoByForm")
	t.Add("POST", "/api/oauth/revoke", web.Public(), web.OAuth,
		open(web.Form(e.revoke)).Answers("application/json").Fails(core.Unauthenticated),
		"Revoke a token and all other tokens of its sign-in (RFC 7009)").
		Named("revokeToken").
		Example(web.Object{"token": "Zc3o…", "client_id": web.ExampleID}).
		Refuses(web.Refused("client_id", "The client authenticates in two ways at once"))
	t.Add("POST", "/api/oauth/introspect", web.Public(), web.OAuth,
		web.Form(e.introspect).Fails(core.Unauthenticated), "Introspect a token (RFC 7662)").
		Named("introspectToken").
		Example(web.Object{"token": "Zc3o…", "client_id": web.ExampleID, "client_secret": "q7Xk…"}).
		Refuses(web.Refused("client_id", "The client authenticates in two ways at once"))
	t.Add("GET", "/api/.well-known/openid-configuration", web.Public(), web.Member,
		open(web.Get(e.describe)).Answers("application/json"),
		"Show the provider's metadata").Named("getDiscovery")
	for _, path := range []string{
		"/.well-known/openid-configuration",
		"/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/api",
	} {
		t.Add("GET", path, web.Public(), web.Member, open(web.Get(e.describe)).Answers("application/json"),
			"Show the provider's metadata")
	}
}

func newOpenID(p *auth.Provider) openID {
	e := openID{auth: p}
	if p != nil {
		b, err := json.Marshal(p.Discovery())
		if err != nil {
			panic(err)
		}
		e.discovery = append(b, '\n')
	}
	return e
}

// describe returns the metadata of OpenID Connect Discovery section 4 and RFC 8414 section 3.
func (e openID) describe(c *web.Call) (web.Text, error) {
	c.Header().Set("Cache-Control", "public, max-age=900")
	return web.Text{Type: "application/json", Body: e.discovery}, nil
}

// userinfo implements the UserInfo endpoint (OpenID Connect Core section 5.3).
func (e openID) userinfo(c *web.Call) (auth.UserInfo, error) {
	return e.auth.UserInfo(c, c.Caller)
}

// tokenForm is a form with a token for an endpoint of RFC 7009 or RFC 7662. It ignores the hint, because a token's
// format shows its type.
type tokenForm struct {
	Token string `form:"token,required" min:"1"`
	clientForm
}

// revoke implements token revocation (RFC 7009).
func (e openID) revoke(c *web.Call, in tokenForm) (web.Text, error) {
	_, err := answer(c, in.clientForm, func(r auth.GrantRequest) (struct{}, error) {
		return struct{}{}, e.auth.Revoke(c, r.Client, in.Token, c.Now)
	})
	return web.Text{Type: "application/json", Body: []byte("{}\n")}, err
}

// introspect implements token introspection (RFC 7662).
func (e openID) introspect(c *web.Call, in tokenForm) (auth.Introspection, error) {
	return answer(c, in.clientForm, func(r auth.GrantRequest) (auth.Introspection, error) {
		return e.auth.Introspect(c, r.Client, in.Token, c.Now)
	})
}

// clientOrigin reports whether an origin belongs to a public client.
func (e openID) clientOrigin(r *http.Request, origin string) bool {
	if origin == "" || e.auth == nil {
		return false
	}
	ok, err := e.auth.AllowsOrigin(r.Context(), origin)
	return err == nil && ok
}
