package oidctest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"newsletterd/core"
	"newsletterd/handlers/web/webtest"
	"newsletterd/store/storetest"
)

// Module is a module in an OpenID Foundation test plan.
type Module struct {
	Name string // as in the plan

	test func(o *conformant)
}

// Conformance lists the modules of the OpenID Foundation's test plans for providers (Basic, Config and RP-Initiated
// Logout; static client, discovery, code), each with a test that makes the same assertions. Some modules wait (30
// seconds between two uses of a code, or a second for max_age). Package auth's tests, which control the clock, cover
// those cases.
var Conformance = []Module{
	// oidcc-config-certification-test-plan
	{"oidcc-discovery-endpoint-verification", (*conformant).discovery},
	// oidcc-basic-certification-test-plan
	{"oidcc-server", func(o *conformant) { o.happy() }},
	{"oidcc-response-type-missing", func(o *conformant) { o.refused("invalid_request", "response_type", "") }},
	{"oidcc-idtoken-signature", (*conformant).signature},
	{"oidcc-idtoken-unsigned", (*conformant).unsigned},
	{"oidcc-userinfo-get", func(o *conformant) { o.userinfo("GET", true, o.happy()) }},
	{"oidcc-userinfo-post-header", func(o *conformant) { o.userinfo("POST", true, o.happy()) }},
	{"oidcc-userinfo-post-body", func(o *conformant) { o.userinfo("POST", false, o.happy()) }},
	{"oidcc-ensure-request-without-nonce-succeeds-for-code-flow", func(o *conformant) { o.happy("nonce", "") }},
	{"oidcc-scope-profile", func(o *conformant) { o.scope("openid profile", "name", "updated_at") }},
	{"oidcc-scope-email", func(o *conformant) { o.scope("openid email", "email", "email_verified") }},
	{"oidcc-scope-address", func(o *conformant) { o.scope("openid address") }}, // not supported: no error
	{"oidcc-scope-phone", func(o *conformant) { o.scope("openid phone") }},     // not supported
	{"oidcc-scope-all", func(o *conformant) { o.scope("openid profile email address phone", "name", "email") }},
	// until release 5.1
	{"oidcc-ensure-other-scope-order-succeeds", func(o *conformant) { o.scope("email openid", "email") }},
	{"oidcc-alternate-happy-flow", func(o *conformant) {
		o.rp.Config.RedirectURL += "?foo=bar"
		if q := o.authorize("scope", "email openid"); q.Get("foo") != "bar" || q.Get("code") == "" {
			o.Errorf("came back with %v", q)
		}
	}},
	{"oidcc-display-page", func(o *conformant) { o.happy("display", "page") }},
	{"oidcc-display-popup", func(o *conformant) { o.happy("display", "popup") }},
	{"oidcc-prompt-login", func(o *conformant) { o.again("prompt", "login") }},
	{"oidcc-prompt-none-not-logged-in", func(o *conformant) { o.refused("login_required", "prompt", "none") }},
	{"oidcc-prompt-none-logged-in", func(o *conformant) {
		first := o.claims(o.happy())
		second := o.claims(o.happy("prompt", "none"))
		if first["sub"] != second["sub"] || first["auth_time"] != second["auth_time"] || o.v.Logins != 1 {
			o.Errorf("first %v, second %v, %d logins", first, second, o.v.Logins)
		}
	}},
	{"oidcc-max-age-1", func(o *conformant) { o.again("max_age", "0") }},
	{"oidcc-max-age-10000", func(o *conformant) {
		first := o.claims(o.happy())
		second := o.claims(o.happy("max_age", "10000"))
		if first["auth_time"] != second["auth_time"] || o.v.Logins != 1 {
			o.Errorf("auth_time %v, then %v, %d logins", first["auth_time"], second["auth_time"], o.v.Logins)
		}
	}},
	{"oidcc-ensure-request-with-unknown-parameter-succeeds", func(o *conformant) { o.happy("extra", "foobar") }},
	{"oidcc-id-token-hint", func(o *conformant) {
		first := o.happy()
		second := o.happy("prompt", "none", "id_token_hint", first.Extra("id_token").(string))
		if o.claims(first)["sub"] != o.claims(second)["sub"] {
			o.Error("another sub")
		}
	}},
	{"oidcc-login-hint", func(o *conformant) {
		if _, page := o.v.read(o.v.Get(o.address("login_hint", "bob@example.org"))); !strings.Contains(page,
			`value="bob@example.org"`) {
			o.Error("the hint is not in the form")
		}
		o.happy("login_hint", "bob@example.org")
	}},
	{"oidcc-ui-locales", func(o *conformant) { o.happy("ui_locales", "se") }},
	{"oidcc-claims-locales", func(o *conformant) { o.happy("claims_locales", "se") }},
	{"oidcc-ensure-request-with-acr-values-succeeds", func(o *conformant) { o.happy("acr_values", "1 2") }},
	{"oidcc-codereuse", func(o *conformant) { o.reuse() }},
	{"oidcc-codereuse-30seconds", func(o *conformant) { o.reuse() }}, // auth: TestCodeReuseRevokes waits an hour
	{"oidcc-ensure-registered-redirect-uri", func(o *conformant) {
		o.rp.Config.RedirectURL += "/other"
		o.errorPage(o.address(), "not registered")
	}},
	{"oidcc-ensure-post-request-succeeds", (*conformant).post},
	{"oidcc-server-client-secret-post", func(o *conformant) {
		o.rp.Config.Endpoint.AuthStyle = oauth2.AuthStyleInParams
		o.happy()
	}},
	{"oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported", func(o *conformant) {
		o.refused("request_uri_not_supported", "request_uri", "https://rp.example/request.jwt")
	}},
	{"oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported", func(o *conformant) {
		o.refused("request_not_supported", "request", "eyJhbGciOiJub25lIn0.e30.")
	}},
	{"oidcc-claims-essential", func(o *conformant) {
		first := o.happy("scope", "openid", "claims", `{"userinfo":{"name":{"essential":true}},"id_token":{"email":null}}`,
			"acr_values", "2 1")
		if c := o.claims(first); c["email"] != string(o.user.Email) || c["acr"] != "1" {
			o.Errorf("id token %v", c)
		}
		if c := o.userinfo("GET", true, first); c["name"] == nil || c["email"] != nil {
			o.Errorf("userinfo %v", c)
		}
	}},
	{"oidcc-ensure-request-object-with-redirect-uri", func(o *conformant) {
		o.refused("request_not_supported", "request",
			"eyJhbGciOiJub25lIn0.eyJyZWRpcmVjdF91cmkiOiJodHRwczovL2V2aWwuZXhhbXBsZSJ9.")
	}},
	{"oidcc-refresh-token", func(o *conformant) {
		first := o.happy("scope", "openid offline_access", "prompt", "consent")
		second, err := o.rp.Config.TokenSource(context.Background(), &oauth2.Token{RefreshToken: first.RefreshToken}).Token()
		if err != nil {
			o.Fatal(err)
		}
		a, b := o.claims(first), o.claims(second)
		for _, same := range []string{"iss", "sub", "aud", "auth_time"} {
			if a[same] != b[same] {
				o.Errorf("%s is %v, then %v", same, a[same], b[same])
			}
		}
		o.userinfo("GET", true, second)
	}},
	{"oidcc-ensure-request-with-valid-pkce-succeeds", func(o *conformant) {
		verifier := oauth2.GenerateVerifier()
		q := o.authorize("code_challenge", oauth2.S256ChallengeFromVerifier(verifier), "code_challenge_method", "S256")
		if _, err := o.rp.Config.Exchange(context.Background(), q.Get("code")); err == nil {
			o.Error("no verifier was needed")
		}
		if _, err := o.rp.Config.Exchange(context.Background(), q.Get("code"), oauth2.VerifierOption(verifier)); err != nil {
			o.Error(err)
		}
	}},
	// oidcc-rp-initiated-logout-certification-test-plan
	{"oidcc-rp-initiated-logout-discovery-endpoint-verification", (*conformant).discovery},
	{"oidcc-rp-initiated-logout", func(o *conformant) {
		o.logsOut("/bye?state=s1", "id_token_hint", o.hint(), "post_logout_redirect_uri", o.rp.URL+"/bye", "state",
			"s1")
	}},
	{"oidcc-rp-initiated-logout-bad-post-logout-redirect-uri", func(o *conformant) {
		o.errorPage(o.logout("id_token_hint", o.hint(), "post_logout_redirect_uri", o.rp.URL+"/bye/evil"),
			"not registered")
	}},
	{"oidcc-rp-initiated-logout-modified-id-token-hint", func(o *conformant) {
		parts := strings.Split(o.hint(), ".")
		none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
		o.errorPage(o.logout("id_token_hint", none, "post_logout_redirect_uri", o.rp.URL+"/bye"),
			"not issued by this server")
	}},
	{"oidcc-rp-initiated-logout-no-id-token-hint", func(o *conformant) {
		o.hint()
		o.errorPage(o.logout("post_logout_redirect_uri", o.rp.URL+"/bye"), "needs id_token_hint")
	}},
	{"oidcc-rp-initiated-logout-no-params", func(o *conformant) { o.hint(); o.asks(o.logout()) }},
	{"oidcc-rp-initiated-logout-no-post-logout-redirect-uri", func(o *conformant) {
		o.logsOut("/api/oauth/logout", "id_token_hint", o.hint())
	}},
	{"oidcc-rp-initiated-logout-no-state", func(o *conformant) {
		o.logsOut("/bye", "id_token_hint", o.hint(), "post_logout_redirect_uri", o.rp.URL+"/bye")
	}},
	{"oidcc-rp-initiated-logout-only-state", func(o *conformant) { o.hint(); o.asks(o.logout("state", "s1")) }},
	{"oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri", func(o *conformant) {
		o.errorPage(o.logout("id_token_hint", o.hint(), "post_logout_redirect_uri", o.rp.URL+"/bye?foo=bar"),
			"not registered")
	}},
	{"oidcc-rp-initiated-logout-bad-id-token-hint", func(o *conformant) {
		o.errorPage(o.logout("id_token_hint", o.hint()[:100], "post_logout_redirect_uri", o.rp.URL+"/bye"),
			"not issued by this server")
	}},
}

// Try makes the module's assertions about the provider at origin. It creates a client in the provider's store, and uses
// a browser without a signed-in user. u is the visitor's user.
func (m Module) Try(t testing.TB, s *storetest.Seeder, origin string, u core.User) {
	t.Helper()
	rp := New(t, s, origin, func(in *core.ClientInput) {
		in.RequirePKCE = new(false)
		*in.RedirectURIs = append(*in.RedirectURIs, (*in.RedirectURIs)[0]+"?foo=bar")
	})
	m.test(&conformant{TB: t, c: &webtest.Client{TB: t, URL: origin}, rp: rp, v: NewVisitor(t), user: u})
}

const discovery = "/api/.well-known/openid-configuration"

// conformant is one run of a module: a client without PKCE, and a browser without a signed-in user.
type conformant struct {
	testing.TB
	c     *webtest.Client
	rp    *RelyingParty
	v     *Visitor
	user  core.User
	nonce string
}

func (o *conformant) address(changes ...string) string {
	o.nonce = core.NewToken()
	options := []oauth2.AuthCodeOption{oidc.Nonce(o.nonce)}
	for i := 0; i < len(changes); i += 2 {
		if changes[i] == "nonce" {
			o.nonce = changes[i+1]
		}
		options = append(options, oauth2.SetAuthURLParam(changes[i], changes[i+1]))
	}
	return o.rp.Config.AuthCodeURL("s1", options...)
}

func (o *conformant) authorize(changes ...string) url.Values {
	o.Helper()
	q := o.v.SignIn(o.rp, o.address(changes...))
	if q.Get("state") != "s1" || q.Get("iss") != o.c.URL+"/api" {
		o.Errorf("came back with %v", q)
	}
	return q
}

// happy completes the whole flow and checks the ID token (OpenID Connect Core section 3.1.3.7).
func (o *conformant) happy(changes ...string) *oauth2.Token {
	o.Helper()
	q := o.authorize(changes...)
	tokens, err := o.rp.Config.Exchange(context.Background(), q.Get("code"))
	if err != nil {
		o.Fatalf("%v, for %v", err, q)
	}
	o.rp.CheckIDToken(tokens, o.user, o.nonce)
	return tokens
}

func (o *conformant) claims(tokens *oauth2.Token) map[string]any {
	o.Helper()
	id, err := o.rp.verifier.Verify(context.Background(), tokens.Extra("id_token").(string))
	if err != nil {
		o.Fatal(err)
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		o.Fatal(err)
	}
	return claims
}

// refused expects an error at the redirect URI.
func (o *conformant) refused(code, parameter, value string) {
	o.Helper()
	if q := o.authorize(parameter, value); q.Get("error") != code || q.Get("code") != "" {
		o.Errorf("came back with %v", q)
	}
}

// errorPage expects a page with an error that contains text, and no response to the client.
func (o *conformant) errorPage(address, text string) {
	o.Helper()
	at, page := o.v.read(o.v.Get(address))
	if !strings.HasPrefix(at.String(), o.c.URL) || !strings.Contains(page, text) {
		o.Errorf("at %s: %s", at, page)
	}
}

// again expects that the user must sign in again, even though the user is signed in.
func (o *conformant) again(changes ...string) {
	o.Helper()
	o.happy()
	second := o.claims(o.happy(changes...))
	if second["auth_time"] == nil || o.v.Logins != 2 {
		o.Errorf("claims %v, %d logins", second, o.v.Logins)
	}
}

func (o *conformant) reuse() {
	o.Helper()
	q := o.authorize()
	tokens, err := o.rp.Config.Exchange(context.Background(), q.Get("code"))
	if err != nil {
		o.Fatal(err)
	}
	_, err = o.rp.Config.Exchange(context.Background(), q.Get("code"))
	if err == nil || !strings.Contains(err.Error(), "invalid_grant") {
		o.Errorf("second use: %v", err)
	}
	if _, err := o.rp.Provider.UserInfo(context.Background(), oauth2.StaticTokenSource(tokens)); err == nil {
		o.Error("the first access token is still good")
	}
}

func (o *conformant) userinfo(method string, header bool, tokens *oauth2.Token) (claims map[string]any) {
	o.Helper()
	var form any
	c := o.c.As(tokens.AccessToken)
	if !header {
		c, form = o.c, url.Values{"access_token": {tokens.AccessToken}}
	}
	if c.Send(method, o.rp.Provider.UserInfoEndpoint(), form).Wants(200).JSON(&claims); claims["sub"] != o.user.ID {
		o.Errorf("%v", claims)
	}
	return claims
}

func (o *conformant) scope(scope string, claims ...string) {
	o.Helper()
	got := o.userinfo("GET", true, o.happy("scope", scope))
	for _, c := range claims {
		if got[c] == nil {
			o.Errorf("no claim %s: %v", c, got)
		}
	}
}

// signature expects RS256 with a key that occurs once in the key set (OpenID Connect Core sections 2 and 10.1).
func (o *conformant) signature() {
	raw, _ := o.happy().Extra("id_token").(string)
	head, _, _ := strings.Cut(raw, ".")
	text, err := base64.RawURLEncoding.DecodeString(head)
	var header struct{ Alg, Kid string }
	if err == nil {
		err = json.Unmarshal(text, &header)
	}
	if err != nil || header.Alg != "RS256" || header.Kid == "" {
		o.Fatalf("header %s, %v", text, err)
	}
	var set struct {
		Keys []struct{ Alg, Kid, Use, Kty string }
	}
	o.c.Get("/api/.well-known/jwks.json").OK().JSON(&set)
	found := 0
	for _, k := range set.Keys {
		if k.Kid == header.Kid && k.Alg == "RS256" && k.Use == "sig" && k.Kty == "RSA" {
			found++
		}
	}
	if found != 1 {
		o.Errorf("%d keys %s in %+v", found, header.Kid, set.Keys)
	}
}

// unsigned checks that clients can't get unsigned ID tokens. The plan skips this module if discovery doesn't offer
// "none".
func (o *conformant) unsigned() {
	var metadata struct {
		Algs []string `json:"id_token_signing_alg_values_supported"`
	}
	if o.c.Get(discovery).OK().JSON(&metadata); slices.Contains(metadata.Algs, "none") {
		o.Errorf("offered: %v", metadata.Algs)
	}
	in := core.ClientInput{
		Name: new("unsigned"), RedirectURIs: &[]string{"https://rp.example/cb"},
		IDTokenAlg: new("none"),
	}
	if _, _, err := core.NewClient(in, true, 1); err == nil {
		o.Error("a client may be registered for it")
	}
}

// post sends the authorization request as a form, like a page on another site.
func (o *conformant) post() {
	address := o.address()
	endpoint, query, _ := strings.Cut(address, "?")
	req, err := http.NewRequestWithContext(o.Context(), http.MethodPost, endpoint, strings.NewReader(query))
	if err != nil {
		o.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", o.rp.URL)
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	at, page := o.v.read(o.v.Do(req))
	if q := o.v.goOn(o.rp, at, page); q.Get("code") == "" || q.Get("state") != "s1" {
		o.Errorf("came back with %v", q)
	}
}

// discovery checks the metadata (OpenID Connect Discovery section 3).
func (o *conformant) discovery() {
	r := o.c.Get(discovery).OK()
	doc := map[string]any{}
	if r.JSON(&doc); r.Header.Get("Content-Type") != "application/json" {
		o.Errorf("%v", r.Header)
	}
	if doc["issuer"] != o.c.URL+"/api" {
		o.Errorf("issuer %v", doc["issuer"])
	}
	for _, name := range []string{
		"authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri",
		"end_session_endpoint",
	} {
		if s, _ := doc[name].(string); !strings.HasPrefix(s, o.c.URL+"/api/") {
			o.Errorf("%s is %v", name, doc[name])
		}
	}
	for name, want := range map[string]string{
		"response_types_supported": "code", "subject_types_supported": "public",
		"id_token_signing_alg_values_supported": "RS256",
		"scopes_supported":                      "openid", "claims_supported": "sub",
		"token_endpoint_auth_methods_supported": "client_secret_basic",
	} {
		found := false
		values, _ := doc[name].([]any)
		for _, v := range values {
			found = found || v == want
		}
		if !found {
			o.Errorf("%s is %v", name, doc[name])
		}
	}
	for name, want := range map[string]bool{
		"claims_parameter_supported": true, "request_parameter_supported": false,
		"request_uri_parameter_supported": false,
	} {
		if doc[name] != want {
			o.Errorf("%s is %v", name, doc[name])
		}
	}
}

func (o *conformant) hint() string { return o.happy().Extra("id_token").(string) }

func (o *conformant) logout(params ...string) string {
	q := url.Values{}
	for i := 0; i < len(params); i += 2 {
		q.Set(params[i], params[i+1])
	}
	return o.c.URL + "/api/oauth/logout?" + q.Encode()
}

// logsOut expects the browser to be signed out, on a page whose URL ends with end.
func (o *conformant) logsOut(end string, params ...string) {
	o.Helper()
	at, page := o.v.read(o.v.Get(o.logout(params...)))
	if !strings.Contains(at.String(), end) {
		o.Errorf("at %s: %s", at, page)
	}
	if at, _ := o.v.read(o.v.Get(o.c.URL + "/account")); at.Path != "/login" {
		o.Error("still signed in")
	}
}

// asks expects a question, and that the answer signs the browser out.
func (o *conformant) asks(address string) {
	o.Helper()
	at, page := o.v.read(o.v.Get(address))
	if !strings.Contains(page, "Sign out?") {
		o.Fatalf("at %s: %s", at, page)
	}
	if at, page = o.v.submit(at, page, nil); !strings.Contains(page, "You’re signed out") {
		o.Errorf("at %s: %s", at, page)
	}
}
