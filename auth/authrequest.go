package auth

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
)

// Authorization is a parsed authorization request (RFC 6749 section 4.1.1, OpenID Connect Core section 3.1.2.1) whose
// redirect URI is trusted.
type Authorization struct {
	Client       core.Client
	RedirectURI  string
	ResponseMode string // query or form_post
	State        string
	Scopes       []string // requested and registered, before the user's roles are considered
	Nonce        string
	Challenge    string // S256; empty if the client doesn't need one
	MaxAge       time.Duration
	HasMaxAge    bool
	LoginHint    string
	IDTokenHint  string
	Claims       ClaimsRequest // including id_token.acr if acr_values requests it
	prompt       []string
}

// AuthorizeError is the error for an authorization request that is refused. If the redirect URI is not trusted, Request
// is nil, and the error only appears on a page (RFC 6749 section 4.1.2.1).
type AuthorizeError struct {
	Code        string
	Description string
	Parameter   string         // name of the faulty parameter, for the page
	Client      *core.Client   // nil if it is unknown
	Request     *Authorization // request whose redirect URI receives the error
}

// Error returns the error and, if known, the client, for the log.
func (e *AuthorizeError) Error() string {
	text := e.Code + ": " + e.Description
	if e.Client != nil {
		text += " (client " + e.Client.ID + ", " + strconv.Quote(e.Client.Name) + ")"
	}
	return text
}

// Codes of authorization errors (RFC 6749 section 4.1.2.1, OpenID Connect Core sections 3.1.2.6 and 6).
const (
	codeInvalidRequest  = "invalid_request"
	codeInvalidScope    = "invalid_scope"
	codeLoginRequired   = "login_required"
	codeConsentRequired = "consent_required"
	codeAccessDenied    = "access_denied"
	codeUnmet           = "unmet_authentication_requirements" // section 2 of the specification with that name
)

// ParseAuthorization parses and checks an authorization request. For an error in the request, it returns an
// *AuthorizeError. The function client looks up a client by id, and returns core.ErrNotFound if there is none.
// ParseAuthorization returns other errors of that function unchanged.
func ParseAuthorization(q url.Values, client func(id string) (core.Client, error)) (*Authorization, error) {
	a := &Authorization{ResponseMode: "query"}
	if err := a.trust(q, client); err != nil {
		return nil, err
	}
	if err := a.parse(q); err != nil {
		err.Request, err.Client = a, &a.Client
		return nil, err
	}
	return a, nil
}

// trust looks up the client and checks that the redirect URI is registered for it.
func (a *Authorization) trust(q url.Values, client func(id string) (core.Client, error)) error {
	refuse := func(parameter, description string) error {
		e := &AuthorizeError{Code: codeInvalidRequest, Description: description, Parameter: parameter}
		if a.Client.ID != "" {
			e.Client = &a.Client
		}
		return e
	}
	id, ok := once(q, "client_id")
	if !ok || id == "" {
		return refuse("client_id", "client_id must be sent exactly once. Check the app's link.")
	}
	c, err := client(id)
	if core.KindOf(err) == core.NotFound {
		return refuse("client_id", "Unknown client_id. Check it in the settings of the app.")
	}
	if err != nil {
		return err
	}
	a.Client = c
	if c.DisabledAt != 0 {
		return refuse("client_id", "This client is disabled. Contact the server administrator.")
	}
	uri, ok := once(q, "redirect_uri")
	if !ok || uri == "" {
		return refuse("redirect_uri", "redirect_uri must be sent exactly once. Check the app's link.")
	}
	if !Registered(c.RedirectURIs, uri, c.ClientType == core.ClientPublic) {
		return refuse("redirect_uri",
			"This redirect_uri is not registered for the client. Register exactly this URL, character by character.")
	}
	a.RedirectURI = uri
	a.State, _ = once(q, "state")
	if mode, _ := once(q, "response_mode"); mode == "form_post" {
		a.ResponseMode = mode
	}
	return nil
}

// onceOnly lists the parameters that must not be repeated. Unknown parameters are ignored (RFC 6749 section 3.1).
var onceOnly = []string{
	"response_type", "response_mode", "scope", "state", "nonce", "code_challenge", "code_challenge_method", "prompt",
	"max_age", "login_hint", "id_token_hint", "request", "request_uri", "registration", "claims", "acr_values",
}

// unsupported lists the parameters for which OpenID Connect Core sections 6 and 7.2.1 define specific error codes.
var unsupported = []struct{ parameter, code string }{
	{"request", "request_not_supported"},
	{"request_uri", "request_uri_not_supported"},
	{"registration", "registration_not_supported"},
}

func (a *Authorization) parse(q url.Values) *AuthorizeError {
	for _, name := range onceOnly {
		if _, ok := once(q, name); !ok {
			return invalid(name, "The parameter "+name+" is sent more than once. Send it only once.")
		}
	}
	for _, u := range unsupported {
		if q.Get(u.parameter) != "" {
			return &AuthorizeError{
				Code: u.code, Parameter: u.parameter,
				Description: "The parameter " + u.parameter + " is not supported. Leave it out.",
			}
		}
	}
	if a.Client.Suspended {
		return &AuthorizeError{
			Code: "unauthorized_client", Parameter: "client_id",
			Description: "The client's tenant is suspended. Contact the server administrator.",
		}
	}
	switch mode := q.Get("response_mode"); mode {
	case "", "query", "form_post":
	default:
		return invalid("response_mode", "response_mode must be query or form_post.")
	}
	switch q.Get("response_type") {
	case "code":
	case "":
		return invalid("response_type", "response_type is missing. Set it to code.")
	default:
		return &AuthorizeError{
			Code: "unsupported_response_type", Parameter: "response_type",
			Description: "response_type must be code.",
		}
	}
	if !slices.Contains(a.Client.GrantTypes, "authorization_code") {
		return &AuthorizeError{
			Code: "unauthorized_client", Parameter: "client_id",
			Description: "This client can't use the authorization code grant. Add authorization_code to its " +
				"grant_types.",
		}
	}
	a.Nonce, a.LoginHint, a.IDTokenHint = q.Get("nonce"), q.Get("login_hint"), q.Get("id_token_hint")
	if err := a.parseScope(q.Get("scope")); err != nil {
		return err
	}
	if err := a.parseChallenge(q.Get("code_challenge"), q.Get("code_challenge_method")); err != nil {
		return err
	}
	if err := a.parseClaims(q.Get("claims"), q.Get("acr_values")); err != nil {
		return err
	}
	return a.parsePrompt(q.Get("prompt"), q.Get("max_age"))
}

// parseClaims reads the claims requested by name. They have no effect without the scope openid.
func (a *Authorization) parseClaims(claims, acrValues string) *AuthorizeError {
	if !slices.Contains(a.Scopes, core.ScopeOpenID) {
		return nil
	}
	if claims != "" {
		var err error
		if a.Claims, err = ParseClaims(claims); err != nil {
			return invalid("claims",
				"claims must be a JSON object as in OpenID Connect Core section 5.5.")
		}
		a.Claims.keep(a.Client.Scopes)
	}
	if acrValues != "" && !slices.Contains(a.Claims.Claims, acrWord) {
		a.Claims.Claims = append(a.Claims.Claims, acrWord)
	}
	return nil
}

func (a *Authorization) parseScope(scope string) *AuthorizeError {
	if !validScopeText(scope) {
		return &AuthorizeError{
			Code: codeInvalidScope, Parameter: "scope",
			Description: "scope is missing or malformed. List scopes, separated by spaces.",
		}
	}
	var err error
	if a.Scopes, err = grantScopes(scope, a.Client.Scopes, core.AllScopes); err != nil {
		return &AuthorizeError{
			Code: codeInvalidScope, Parameter: "scope",
			Description: "None of the requested scopes is registered for the client. Request one that is.",
		}
	}
	return nil
}

// parseChallenge checks the PKCE parameters (RFC 7636 section 4.3). The method plain is not supported. A challenge
// without a method is refused, because it would imply plain.
func (a *Authorization) parseChallenge(challenge, method string) *AuthorizeError {
	if challenge == "" && method == "" && !a.Client.RequirePKCE {
		return nil
	}
	if challenge == "" {
		return invalid("code_challenge", "code_challenge is missing. This client must use PKCE.")
	}
	if method != "S256" {
		return invalid("code_challenge_method", "code_challenge_method must be S256.")
	}
	if !validChallenge(challenge) {
		return invalid("code_challenge", "code_challenge must be a SHA-256 hash in base64url (43 characters).")
	}
	a.Challenge = challenge
	return nil
}

func (a *Authorization) parsePrompt(prompt, maxAge string) *AuthorizeError {
	a.prompt = strings.Fields(prompt)
	if len(a.prompt) > 1 && slices.Contains(a.prompt, "none") {
		return invalid("prompt", "prompt can't combine none with other values. Send none alone.")
	}
	if maxAge == "" {
		return nil
	}
	n, err := strconv.ParseUint(maxAge, 10, 31)
	if err != nil {
		return invalid("max_age", "max_age must be a number of seconds.")
	}
	a.MaxAge, a.HasMaxAge = time.Duration(n)*time.Second, true
	return nil
}

func invalid(parameter, description string) *AuthorizeError {
	return &AuthorizeError{Code: codeInvalidRequest, Parameter: parameter, Description: description}
}

// once returns the value of a parameter. ok is false if the parameter is repeated. An empty value counts as a missing
// parameter.
func once(q url.Values, name string) (string, bool) {
	v := q[name]
	if len(v) == 0 {
		return "", true
	}
	return v[0], len(v) == 1
}

// Registered reports whether uri is one of the registered redirect URIs. It compares URIs character by character (RFC
// 9700 section 2.1). For public clients, the ports of loopback URIs may differ (RFC 8252 section 7.3).
func Registered(registered []string, uri string, public bool) bool {
	if slices.Contains(registered, uri) {
		return true
	}
	if !public || !core.ValidRedirectURI(uri) {
		return false
	}
	portless, ok := withoutLoopbackPort(uri)
	return ok && slices.ContainsFunc(registered, func(r string) bool {
		p, ok := withoutLoopbackPort(r)
		return ok && p == portless
	})
}

// withoutLoopbackPort removes the port from an http URI with a loopback address.
func withoutLoopbackPort(uri string) (string, bool) {
	rest, ok := strings.CutPrefix(uri, "http://")
	if !ok {
		return "", false
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	host, path := rest[:end], rest[end:]
	for _, loopback := range []string{"127.0.0.1", "[::1]", "localhost"} {
		if port, ok := strings.CutPrefix(host, loopback); ok && (port == "" || port[0] == ':') {
			return loopback + path, true
		}
	}
	return "", false
}
