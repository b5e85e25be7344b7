package handlers

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"newsletterd/auth"
	"newsletterd/core"
)

// providerEdge serves what relying parties ask of the provider besides tokens.
type providerEdge struct {
	auth      *auth.Provider
	discovery []byte // made once: nothing in it depends on the request
}

func newProviderEdge(p *auth.Provider) providerEdge {
	e := providerEdge{auth: p}
	if p != nil {
		b, err := json.Marshal(p.Discovery())
		if err != nil {
			panic(err)
		}
		e.discovery = append(b, '\n')
	}
	return e
}

// describe is the metadata of OpenID Connect Discovery section 4 and RFC 8414 section 3.
func (e providerEdge) describe(c *Call) (Text, error) {
	c.Header().Set("Cache-Control", "public, max-age=900")
	return Text{Type: "application/json", Body: e.discovery}, nil
}

// userinfo is OpenID Connect Core section 5.3.
func (e providerEdge) userinfo(c *Call) (auth.UserInfo, error) { return e.auth.UserInfo(c, c.Caller) }

// tokenForm names a token to an endpoint of RFC 7009 or RFC 7662. The hint is not needed: a token tells by its
// form what it is.
type tokenForm struct {
	Token string `form:"token,required"`
	clientForm
}

// revoke is RFC 7009.
func (e providerEdge) revoke(c *Call, in tokenForm) (Text, error) {
	_, err := answer(c, in.clientForm, func(r auth.GrantRequest) (struct{}, error) {
		return struct{}{}, e.auth.Revoke(c, r.Client, in.Token, c.Now)
	})
	return Text{Type: "application/json", Body: []byte("{}\n")}, err
}

// introspect is RFC 7662.
func (e providerEdge) introspect(c *Call, in tokenForm) (auth.Introspection, error) {
	return answer(c, in.clientForm, func(r auth.GrantRequest) (auth.Introspection, error) {
		return e.auth.Introspect(c, r.Client, in.Token, c.Now)
	})
}

// tokenOrForm lets in whoever carries an access token with a scope, in the header or, by POST, as access_token in a form
// (RFC 6750 sections 2.1 and 2.2). Both at once is an error.
func tokenOrForm(scopes ...string) Access {
	return Access{name: "bearer", bearer: true, form: true, scopes: scopes}
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
		return "", core.Invalidf("access_token", "The form is not well-formed.")
	}
	return q.Get("access_token"), nil
}

// clientOrigin tells whether an origin is that of a public client.
func (e providerEdge) clientOrigin(r *http.Request, origin string) bool {
	if origin == "" || e.auth == nil {
		return false
	}
	ok, err := e.auth.AllowsOrigin(r.Context(), origin)
	return err == nil && ok
}
