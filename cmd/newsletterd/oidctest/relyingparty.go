// Package oidctest tests an OpenID provider from outside with third-party libraries: as a website that signs its users
// in, as a visitor of that site, and like the OpenID Foundation's test plans.
package oidctest

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/store/storetest"
)

// RelyingParty is a website that signs its users in through a provider.
type RelyingParty struct {
	*httptest.Server
	testing.TB
	Config   oauth2.Config
	Provider *oidc.Provider

	verifier *oidc.IDTokenVerifier
	got      chan url.Values // parameters sent to the redirect URI
}

// New creates a client in the store of the provider at origin, and discovers everything else.
func New(t testing.TB, s *storetest.Seeder, origin string, change ...func(*core.ClientInput)) *RelyingParty {
	t.Helper()
	rp := &RelyingParty{TB: t, got: make(chan url.Values, 1)}
	rp.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/cb" {
			_ = r.ParseForm()
			rp.got <- r.Form
		}
		_, _ = io.WriteString(w, "<!doctype html><title>Relying party</title><h1>Relying party "+r.URL.Path+"</h1>")
	}))
	t.Cleanup(rp.Close)
	in := core.ClientInput{
		Name: new("Reading Room"), ClientType: new(core.ClientConfidential), RedirectURIs: &[]string{rp.URL + "/cb"},
		PostLogoutRedirectURIs: &[]string{rp.URL + "/bye"},
	}
	for _, f := range change {
		f(&in)
	}
	c, secret := s.NewClient(in)
	var err error
	if rp.Provider, err = oidc.NewProvider(t.Context(), origin+"/api"); err != nil {
		t.Fatal(err)
	}
	rp.Config = oauth2.Config{
		ClientID: c.ID, ClientSecret: secret, RedirectURL: rp.URL + "/cb", Endpoint: rp.Provider.Endpoint(),
		Scopes: []string{oidc.ScopeOpenID, "profile", "email", oidc.ScopeOfflineAccess},
	}
	rp.verifier = rp.Provider.Verifier(&oidc.Config{ClientID: c.ID, SupportedSigningAlgs: []string{c.IDTokenAlg}})
	return rp
}

// Visitor is a user with a browser that keeps cookies and submits forms.
type Visitor struct {
	*http.Client
	Email  string // default: ann@example.org
	Logins int    // number of password forms

	t testing.TB
}

// NewVisitor returns a visitor who is not signed in. The password is daemontest.Password.
func NewVisitor(t testing.TB) *Visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Visitor{t: t, Email: "ann@example.org", Client: &http.Client{Jar: jar, Timeout: 30 * time.Second}}
}

func (v *Visitor) read(res *http.Response, err error) (at *url.URL, page string) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return res.Request.URL, string(b)
}

var (
	formAction = regexp.MustCompile(`<form method="post" action="([^"]+)"`)
	hiddenTag  = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)
)

// submit sends a page's first form, with the visitor's values and those in fields.
func (v *Visitor) submit(at *url.URL, page string, fields map[string]string) (*url.URL, string) {
	v.t.Helper()
	action := formAction.FindStringSubmatch(page)
	if action == nil {
		v.t.Fatalf("no form at %s: %s", at, page)
	}
	to, err := at.Parse(html.UnescapeString(action[1]))
	if err != nil {
		v.t.Fatal(err)
	}
	form := url.Values{}
	for _, h := range hiddenTag.FindAllStringSubmatch(page, -1) {
		form.Set(h[1], html.UnescapeString(h[2]))
	}
	for name, value := range fields {
		form.Set(name, value)
	}
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, to.String(), strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", at.Scheme+"://"+at.Host)
	return v.read(v.Do(req))
}

// SignIn follows an authorization request until the visitor is back at the relying party. On the way, it signs in and
// consents if a page asks for it. It returns the response parameters.
func (v *Visitor) SignIn(rp *RelyingParty, address string) url.Values {
	v.t.Helper()
	at, page := v.read(v.Get(address))
	return v.goOn(rp, at, page)
}

// goOn continues SignIn at a page: it signs in and consents if a page asks for it.
func (v *Visitor) goOn(rp *RelyingParty, at *url.URL, page string) url.Values {
	v.t.Helper()
	if at.Path == "/login" {
		v.Logins++
		at, page = v.submit(at, page, map[string]string{"email": v.Email, "password": daemontest.Password})
	}
	if strings.Contains(page, `name="decision"`) {
		at, page = v.submit(at, page, map[string]string{"decision": "allow"})
	}
	v.t.Logf("the visitor stands at %s: %.200s", at, page)
	return rp.Back()
}

// Back waits for the provider's response at the redirect URI.
func (rp *RelyingParty) Back() url.Values {
	rp.Helper()
	select {
	case q := <-rp.got:
		return q
	case <-time.After(10 * time.Second):
		rp.Fatal("nothing came back")
		return nil
	}
}

// CheckIDToken checks the ID token in tokens (OpenID Connect Core section 3.1.3.7): its user, its nonce, and that it
// matches the access token.
func (rp *RelyingParty) CheckIDToken(tokens *oauth2.Token, u core.User, nonce string) {
	rp.Helper()
	raw, _ := tokens.Extra("id_token").(string)
	id, err := rp.verifier.Verify(context.Background(), raw)
	if err != nil {
		rp.Fatal(err)
	}
	if err := id.VerifyAccessToken(tokens.AccessToken); err != nil || id.AccessTokenHash == "" {
		rp.Errorf("at_hash: %v", err)
	}
	var claims struct {
		AuthTime int64 `json:"auth_time"`
	}
	if err := id.Claims(&claims); err != nil || claims.AuthTime == 0 || id.Subject != u.ID || id.Nonce != nonce {
		rp.Errorf("id token %+v, auth_time %d, %v", id, claims.AuthTime, err)
	}
}
