package main

import (
	"context"
	"encoding/json"
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

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
)

// relyingParty is a web site that signs its users in at the daemon, made of libraries that are none of ours.
type relyingParty struct {
	*httptest.Server
	config   oauth2.Config
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier
	got      chan url.Values // what came back to the redirect URI
}

// newRelyingParty registers a client of a type with the daemon, and finds out everything else by discovery.
func newRelyingParty(t *testing.T, d *running, change func(*core.ClientInput)) *relyingParty {
	t.Helper()
	rp := &relyingParty{got: make(chan url.Values, 1)}
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
	if change != nil {
		change(&in)
	}
	c, secret, err := core.NewClient(in, true, now())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.store.AddClient(t.Context(), c, "test"); err != nil {
		t.Fatal(err)
	}
	if rp.provider, err = oidc.NewProvider(t.Context(), d.cfg.Origin()+"/api"); err != nil {
		t.Fatal(err)
	}
	rp.config = oauth2.Config{
		ClientID: c.ID, ClientSecret: secret, RedirectURL: rp.URL + "/cb", Endpoint: rp.provider.Endpoint(),
		Scopes: []string{oidc.ScopeOpenID, "profile", "email", oidc.ScopeOfflineAccess},
	}
	rp.verifier = rp.provider.Verifier(&oidc.Config{ClientID: c.ID, SupportedSigningAlgs: []string{c.IDTokenAlg}})
	return rp
}

// visitor is a person with a browser that keeps cookies and sends forms.
type visitor struct {
	t *testing.T
	*http.Client
	logins int
}

func newVisitor(t *testing.T) *visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t: t, Client: &http.Client{Jar: jar, Timeout: 30 * time.Second}}
}

func (v *visitor) read(res *http.Response, err error) (at *url.URL, page string) {
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

// submit sends the first form of a page with what the visitor fills in.
func (v *visitor) submit(at *url.URL, page string, fields map[string]string) (*url.URL, string) {
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

// signIn walks from an authorization request to the relying party: login, consent where it is asked for.
func (v *visitor) signIn(rp *relyingParty, address string) url.Values {
	v.t.Helper()
	at, page := v.read(v.Get(address))
	return v.goOn(rp, at, page)
}

func (v *visitor) goOn(rp *relyingParty, at *url.URL, page string) url.Values {
	v.t.Helper()
	if at.Path == "/login" {
		v.logins++
		at, page = v.submit(at, page, map[string]string{"email": "ann@example.org", "password": daemontest.Password})
	}
	if strings.Contains(page, "asks for access") {
		at, page = v.submit(at, page, map[string]string{"decision": "allow"})
	}
	v.t.Logf("the visitor stands at %s: %.200s", at, page)
	return rp.back(v.t)
}

// back waits for what comes back to the redirect URI.
func (rp *relyingParty) back(t *testing.T) url.Values {
	t.Helper()
	select {
	case q := <-rp.got:
		return q
	case <-time.After(10 * time.Second):
		t.Fatal("nothing came back")
		return nil
	}
}

// Code flow with PKCE, id token, userinfo, refresh and single sign-on, by coreos/go-oidc and x/oauth2.
func TestRelyingParty(t *testing.T) {
	daemontest.Parallel(t)
	d := start(t, nil)
	u := d.addUser("ann@example.org")
	for name, change := range map[string]func(*core.ClientInput){
		"confidential":       func(*core.ClientInput) {},
		"confidential, post": func(in *core.ClientInput) { in.AuthMethod = new("client_secret_post") },
		"confidential, ES256": func(in *core.ClientInput) {
			in.IDTokenAlg = new("ES256")
		},
		"public": func(in *core.ClientInput) { in.ClientType = new(core.ClientPublic) },
	} {
		t.Run(name, func(t *testing.T) {
			rp := newRelyingParty(t, d, change)
			v := newVisitor(t)
			verifier, state, nonce := oauth2.GenerateVerifier(), core.NewToken(), core.NewToken()
			q := v.signIn(rp, rp.config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oidc.Nonce(nonce)))
			if q.Get("state") != state || q.Get("iss") != d.cfg.Origin()+"/api" {
				t.Fatalf("came back with %v", q)
			}
			ctx := context.Background()
			tokens, err := rp.config.Exchange(ctx, q.Get("code"), oauth2.VerifierOption(verifier))
			if err != nil {
				t.Fatal(err)
			}
			rp.checkIDToken(t, tokens, u, nonce)
			info, err := rp.provider.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
			if err != nil || info.Subject != u.ID || info.Email != "ann@example.org" || !info.EmailVerified {
				t.Errorf("userinfo %+v, %v", info, err)
			}
			old := *tokens
			old.Expiry = time.Now().Add(-time.Hour)
			fresh, err := rp.config.TokenSource(ctx, &old).Token()
			if err != nil || fresh.RefreshToken == tokens.RefreshToken || fresh.AccessToken == tokens.AccessToken {
				t.Fatalf("refreshed %+v, %v", fresh, err)
			}
			rp.checkIDToken(t, fresh, u, "")
			// Signed in and agreed already: the second way has no page at all.
			verifier = oauth2.GenerateVerifier()
			q = v.signIn(rp, rp.config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier),
				oauth2.SetAuthURLParam("prompt", "none")))
			if q.Get("code") == "" {
				t.Errorf("single sign-on: %v", q)
			}
		})
	}
}

func (rp *relyingParty) checkIDToken(t *testing.T, tokens *oauth2.Token, u core.User, nonce string) {
	t.Helper()
	raw, _ := tokens.Extra("id_token").(string)
	id, err := rp.verifier.Verify(context.Background(), raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := id.VerifyAccessToken(tokens.AccessToken); err != nil || id.AccessTokenHash == "" {
		t.Errorf("at_hash: %v", err)
	}
	var claims struct {
		AuthTime int64 `json:"auth_time"`
	}
	if err := id.Claims(&claims); err != nil || claims.AuthTime == 0 || id.Subject != u.ID || id.Nonce != nonce {
		t.Errorf("id token %+v, auth_time %d, %v", id, claims.AuthTime, err)
	}
}

// Behind a reverse proxy that ends TLS and lies about the host, every address that leaves the daemon is the configured
// one.
func TestReverseProxy(t *testing.T) {
	daemontest.Parallel(t)
	const public = "https://news.example.org"
	d := start(t, func(c *config.Config) { c.Server.PublicURL = public })
	d.addUser("ann@example.org")
	c, _, err := core.NewClient(core.ClientInput{
		Name:         new("Reading Room"),
		RedirectURIs: &[]string{"https://rp.example/cb"},
	}, true, now())
	if err == nil {
		err = d.store.AddClient(t.Context(), c, "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ask := func(method, path, form string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+d.listener.Addr().String()+path,
			strings.NewReader(form))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "evil.example"
		req.Header.Set("X-Forwarded-Host", "evil.example")
		req.Header.Set("X-Forwarded-Proto", "gopher")
		req.Header.Set("Forwarded", "host=evil.example;proto=gopher")
		if form != "" {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("Origin", public)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		for k, values := range res.Header {
			if strings.Contains(strings.Join(values, " "), "evil.example") {
				t.Errorf("%s %s: header %s: %s", method, path, k, values)
			}
		}
		if strings.Contains(string(b), "evil.example") || strings.Contains(string(b), d.listener.Addr().String()) {
			t.Errorf("%s %s: %s", method, path, b)
		}
		return res, string(b)
	}
	_, body := ask("GET", "/api/.well-known/openid-configuration", "")
	var doc map[string]any
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatal(err)
	}
	for k, v := range doc {
		if s, ok := v.(string); ok && !strings.HasPrefix(s, public+"/api") {
			t.Errorf("%s is %s", k, s)
		}
	}
	authorize := "/api/oauth/authorize?" + url.Values{
		"client_id": {c.ID}, "redirect_uri": {"https://rp.example/cb"}, "response_type": {"code"}, "scope": {"openid"},
		"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, "code_challenge_method": {"S256"},
	}.Encode()
	res, _ := ask("GET", authorize, "")
	if to := res.Header.Get("Location"); !strings.HasPrefix(to, public+"/login?") {
		t.Errorf("to the login: %s", to)
	}
	for _, path := range []string{
		"/account", "/login", "/password/forgot", "/api/oauth/logout?post_logout_redirect_uri=x",
		"/api/oauth/authorize", "/healthz", "/nowhere",
	} {
		ask("GET", path, "")
	}
	res, _ = ask("POST", "/login", url.Values{
		"email": {"ann@example.org"}, "password": {daemontest.Password},
		"continue": {authorize},
	}.Encode())
	if to := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther ||
		!strings.HasPrefix(to, public+"/api/oauth/authorize?") {
		t.Errorf("behind the login: %d %s", res.StatusCode, to)
	}
	cookies := res.Cookies()
	if len(cookies) != 2 {
		t.Errorf("%d cookies", len(cookies))
	}
	for _, k := range cookies {
		if !strings.HasPrefix(k.Name, "__Host-") || !k.Secure || !k.HttpOnly || k.Path != "/" || k.Domain != "" ||
			k.SameSite != http.SameSiteLaxMode {
			t.Errorf("cookie %s", k.Raw)
		}
	}
	if res.Header.Get("Strict-Transport-Security") == "" {
		res, _ = ask("GET", "/login", "")
		if res.Header.Get("Strict-Transport-Security") == "" {
			t.Error("no HSTS")
		}
	}
}
