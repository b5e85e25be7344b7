package handlers

import (
	"errors"

	"newsletterd/auth"
	"newsletterd/core"
)

// oauthEdge serves the endpoints of RFC 6749 that programs use.
type oauthEdge struct{ auth *auth.Provider }

// clientForm is how a form names its client.
type clientForm struct {
	ClientID     string `form:"client_id"`
	ClientSecret string `form:"client_secret"`
}

// loginRequest is the password grant (RFC 6749 section 4.3.2).
type loginRequest struct {
	GrantType string `form:"grant_type,required"`
	Username  string `form:"username,required"`
	Password  string `form:"password,required"`
	Scope     string `form:"scope"`
	clientForm
}

// refreshRequest is RFC 6749 section 6.
type refreshRequest struct {
	GrantType    string `form:"grant_type,required"`
	RefreshToken string `form:"refresh_token,required"`
	Scope        string `form:"scope"`
	clientForm
}

// tokenRequest is whatever grant the token endpoint takes.
type tokenRequest struct {
	GrantType    string `form:"grant_type,required"`
	RefreshToken string `form:"refresh_token"`
	Scope        string `form:"scope"`
	clientForm
}

func (o oauthEdge) login(c *Call, in loginRequest) (auth.TokenResponse, error) {
	if in.GrantType != "password" {
		return auth.TokenResponse{}, auth.ErrUnsupportedGrant
	}
	r, err := c.grantRequest(in.clientForm, in.Scope)
	r.Username, r.Password = in.Username, in.Password
	return answer(c, r, err, o.auth.PasswordGrant)
}

func (o oauthEdge) refresh(c *Call, in refreshRequest) (auth.TokenResponse, error) {
	if in.GrantType != "refresh_token" {
		return auth.TokenResponse{}, auth.ErrUnsupportedGrant
	}
	return o.token(c, tokenRequest(in))
}

func (o oauthEdge) token(c *Call, in tokenRequest) (auth.TokenResponse, error) {
	r, err := c.grantRequest(in.clientForm, in.Scope)
	r.RefreshToken = in.RefreshToken
	return answer(c, r, err, o.auth.Grant(in.GrantType))
}

// jwks is the key set. Keys are published long before they sign, so it may be kept for a while.
func (o oauthEdge) jwks(c *Call) (auth.KeySet, error) {
	set, err := o.auth.KeySet(c, c.Now)
	c.Header().Set("Cache-Control", "public, max-age=900")
	return set, err
}

// grantRequest gathers what every grant needs. A bearer token sent along, as browsers' helpers do, is no
// try to authenticate the client.
func (c *Call) grantRequest(f clientForm, scope string) (auth.GrantRequest, error) {
	r := auth.GrantRequest{
		Client: auth.ClientCredentials{ID: f.ClientID, Secret: f.ClientSecret},
		Scope:  scope, Remote: c.Remote, UserAgent: c.UserAgent(),
	}
	values := c.Request.Header["Authorization"]
	if len(values) > 1 {
		return r, core.Invalidf("", "The Authorization header stands twice.")
	}
	if len(values) == 1 {
		r.Client.Authorization = values[0]
		if !r.Client.Basic() {
			r.Client.Authorization = ""
		}
	}
	return r, nil
}

// answer runs a grant. Its answers, errors too, are never kept (RFC 6749 section 5.1), and a client that tried
// Basic in vain is told the scheme (section 5.2).
func answer(c *Call, r auth.GrantRequest, err error, grant auth.GrantFunc) (auth.TokenResponse, error) {
	c.Header().Set("Pragma", "no-cache")
	if err != nil {
		return auth.TokenResponse{}, err
	}
	tokens, err := grant(c, r, c.Now)
	if errors.Is(err, auth.ErrInvalidClient) && r.Client.Basic() {
		c.Header().Set("WWW-Authenticate", `Basic realm="newsletterd", charset="UTF-8"`)
	}
	return tokens, err
}
