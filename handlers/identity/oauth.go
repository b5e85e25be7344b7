package identity

import (
	"errors"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
)

// grants serves the OAuth token endpoints for clients (RFC 6749).
type grants struct{ auth *auth.Provider }

// grantRoutes adds the routes that issue tokens to clients, and the route with the keys for verifying them.
func (r *Room) grantRoutes(t *web.Table) {
	o := grants{r.Auth}
	open := func(do web.Endpoint) web.Endpoint {
		return do.CORS(newOpenID(r.Auth).clientOrigin, "Authorization")
	}
	t.Add("POST", "/api/auth/login", web.Public(), web.OAuth,
		web.Form(o.login).Fails(core.Unauthenticated, core.TooMany), "Sign in with a password").Named("login").
		Example(web.Object{"grant_type": "password", "username": "reader@example.org", "password": "a long password"}).
		Refuses(
			web.Coded("invalid_grant", "",
				"The address or password is wrong, or the account uses two-factor authentication or a passkey"),
			web.Coded("invalid_grant", "otp", "The code is wrong or was already used"),
			web.Coded("invalid_scope", "", "None of the scopes can be granted"),
		)
	t.Add("POST", "/api/auth/refresh", web.Public(), web.OAuth,
		web.Form(o.refresh).Fails(core.Unauthenticated), "Exchange a refresh token").Named("refreshToken").
		Example(web.Object{"grant_type": "refresh_token", "refresh_token": "Zc3o…"}).
		Refuses(
			web.Coded("invalid_grant", "", "The token is unknown or no longer valid"),
			web.Coded("unauthorized_client", "", "The client can't use this grant, or its tenant is suspended"),
		)
	t.Add("POST", "/api/oauth/token", web.Public(), web.OAuth,
		open(web.Form(o.token)).DescribesBody(tokenForms...).Fails(core.Unauthenticated),
		"Exchange a grant for tokens (RFC 6749)").Named("createToken").
		Example(web.Object{
			"grant_type": "authorization_code", "code": "SplxlOBeZQQYbYS6WxSbIA",
			"redirect_uri":  "https://app.example.org/callback",
			"code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "client_id": web.ExampleID,
		}).
		Refuses(
			web.Coded("invalid_grant", "",
				"The code or token is unknown or no longer valid, or doesn't match the authorization request"),
			web.Coded("invalid_scope", "", "None of the scopes can be granted"),
			web.Coded("unauthorized_client", "", "The client can't use this grant, or its tenant is suspended"),
			web.Refused("client_id", "The client authenticates in two ways at once"),
		)
	t.Add("GET", "/api/.well-known/jwks.json", web.Public(), web.Member,
		open(web.Get(o.jwks)), "Show the public keys for verifying tokens").Named("getKeySet")
}

// clientForm holds the form fields that identify a client.
type clientForm struct {
	ClientID     string `form:"client_id"`
	ClientSecret string `form:"client_secret"`
}

// loginRequest is the form of the password grant (RFC 6749 section 4.3.2).
type loginRequest struct {
	GrantType string `form:"grant_type,required" min:"1" oneof:"password"`
	Username  string `form:"username,required"`
	Password  string `form:"password,required"`
	OTP       string `form:"otp"` // of a user with a second factor
	Scope     string `form:"scope"`
	clientForm
}

// refreshTokenRequest is the form for refreshing a token (RFC 6749 section 6).
type refreshTokenRequest struct {
	GrantType    string `form:"grant_type,required" min:"1" oneof:"refresh_token"`
	RefreshToken string `form:"refresh_token,required"`
	Scope        string `form:"scope"`
	clientForm
}

// tokenRequest is the form for any grant that the token endpoint accepts.
type tokenRequest struct {
	GrantType    string `form:"grant_type,required"`
	RefreshToken string `form:"refresh_token"`
	Scope        string `form:"scope"`
	Code         string `form:"code"`
	RedirectURI  string `form:"redirect_uri"`
	Verifier     string `form:"code_verifier"`
	clientForm
}

// grantParameters holds the required parameters of each grant (RFC 6749 sections 4.1.3 and 6).
var grantParameters = map[string][]struct {
	name  string
	value func(*tokenRequest) *string
}{
	"authorization_code": {
		{"code", func(t *tokenRequest) *string { return &t.Code }},
		{"redirect_uri", func(t *tokenRequest) *string { return &t.RedirectURI }},
	},
	"refresh_token": {{"refresh_token", func(t *tokenRequest) *string { return &t.RefreshToken }}},
}

func (o grants) login(c *web.Call, in loginRequest) (auth.TokenResponse, error) {
	if in.GrantType != "password" {
		return auth.TokenResponse{}, auth.ErrUnsupportedGrant
	}
	return answer(c, in.clientForm, func(r auth.GrantRequest) (auth.TokenResponse, error) {
		r.Scope, r.Username, r.Password, r.OTP = in.Scope, in.Username, in.Password, in.OTP
		return o.auth.PasswordGrant(c, r, c.Now)
	})
}

func (o grants) refresh(c *web.Call, in refreshTokenRequest) (auth.TokenResponse, error) {
	if in.GrantType != "refresh_token" {
		return auth.TokenResponse{}, auth.ErrUnsupportedGrant
	}
	return o.token(c, tokenRequest{
		GrantType: in.GrantType, RefreshToken: in.RefreshToken, Scope: in.Scope,
		clientForm: in.clientForm,
	})
}

func (o grants) token(c *web.Call, in tokenRequest) (auth.TokenResponse, error) {
	for _, p := range grantParameters[in.GrantType] {
		if *p.value(&in) == "" {
			return auth.TokenResponse{}, core.Invalidf(p.name, "%s is missing.", p.name)
		}
	}
	return answer(c, in.clientForm, func(r auth.GrantRequest) (auth.TokenResponse, error) {
		r.Scope, r.RefreshToken, r.Code, r.RedirectURI, r.Verifier = in.Scope, in.RefreshToken, in.Code, in.RedirectURI,
			in.Verifier
		return o.auth.Grant(in.GrantType)(c, r, c.Now)
	})
}

// jwks returns the keys that verify tokens. Keys are published long before they sign, so clients can cache the
// response.
func (o grants) jwks(c *web.Call) (auth.KeySet, error) {
	set, err := o.auth.KeySet(c, c.Now)
	c.Header().Set("Cache-Control", "public, max-age=900")
	return set, err
}

// grantRequest collects the data that every grant needs. A bearer token in the Authorization header, which browser
// libraries may add, doesn't count as client authentication.
func grantRequest(c *web.Call, f clientForm) (auth.GrantRequest, error) {
	r := auth.GrantRequest{
		Client: auth.ClientCredentials{ID: f.ClientID, Secret: f.ClientSecret},
		Remote: c.Remote, UserAgent: c.UserAgent(),
	}
	values := c.Request.Header["Authorization"]
	if len(values) > 1 {
		return r, core.Invalidf("", "The request has more than one Authorization header. Send only one.")
	}
	if len(values) == 1 {
		r.Client.Authorization = values[0]
		if !r.Client.Basic() {
			r.Client.Authorization = ""
		}
	}
	return r, nil
}

// answer runs a client's request. Responses, including errors, must not be cached (RFC 6749 section 5.1). If a client
// fails to authenticate with Basic, the response names that scheme (section 5.2).
func answer[Out any](c *web.Call, f clientForm, run func(auth.GrantRequest) (Out, error)) (out Out, err error) {
	c.Header().Set("Pragma", "no-cache")
	r, err := grantRequest(c, f)
	if err != nil {
		return out, err
	}
	out, err = run(r)
	if errors.Is(err, auth.ErrInvalidClient) && r.Client.Basic() {
		c.Header().Set("WWW-Authenticate", `Basic realm="newsletterd", charset="UTF-8"`)
	}
	return out, err
}
