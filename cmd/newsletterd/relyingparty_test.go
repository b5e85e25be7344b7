package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/oidctest"
	"newsletterd/core"
	"newsletterd/handlers/web/webtest"
	"newsletterd/store/storetest"
)

// TestRelyingParty tests the code flow with PKCE, ID token, userinfo, refresh and single sign-on with coreos/go-oidc
// and x/oauth2.
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
			rp := oidctest.New(t, storetest.Seed(t, d.store), d.URL, change)
			v := oidctest.NewVisitor(t)
			verifier, state, nonce := oauth2.GenerateVerifier(), core.NewToken(), core.NewToken()
			q := v.SignIn(rp, rp.Config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oidc.Nonce(nonce)))
			if q.Get("state") != state || q.Get("iss") != d.cfg.Origin()+"/api" {
				t.Fatalf("came back with %v", q)
			}
			ctx := context.Background()
			tokens, err := rp.Config.Exchange(ctx, q.Get("code"), oauth2.VerifierOption(verifier))
			if err != nil {
				t.Fatal(err)
			}
			rp.CheckIDToken(tokens, u, nonce)
			info, err := rp.Provider.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
			if err != nil || info.Subject != u.ID || info.Email != "ann@example.org" || !info.EmailVerified {
				t.Errorf("userinfo %+v, %v", info, err)
			}
			old := *tokens
			old.Expiry = time.Now().Add(-time.Hour)
			fresh, err := rp.Config.TokenSource(ctx, &old).Token()
			if err != nil || fresh.RefreshToken == tokens.RefreshToken || fresh.AccessToken == tokens.AccessToken {
				t.Fatalf("refreshed %+v, %v", fresh, err)
			}
			rp.CheckIDToken(fresh, u, "")
			// The user is signed in and has consented, so the second flow shows no page.
			verifier = oauth2.GenerateVerifier()
			q = v.SignIn(rp, rp.Config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier),
				oauth2.SetAuthURLParam("prompt", "none")))
			if q.Get("code") == "" {
				t.Errorf("single sign-on: %v", q)
			}
		})
	}
}

// TestConformance runs the modules of the OpenID Foundation's test plans.
func TestConformance(t *testing.T) {
	daemontest.Parallel(t)
	d := start(t, nil)
	u := d.addUser("ann@example.org")
	for _, m := range oidctest.Conformance {
		t.Run(m.Name, func(t *testing.T) { m.Try(t, storetest.Seed(t, d.store), d.URL, u) })
	}
}

// TestReverseProxy checks that behind a reverse proxy that terminates TLS and sends a wrong host, every address from
// the daemon is the configured one.
func TestReverseProxy(t *testing.T) {
	daemontest.Parallel(t)
	const public = "https://news.example.org"
	d := start(t, func(c *config.Config) { c.Server.PublicURL = public })
	d.addUser("ann@example.org")
	c, _ := d.seed.NewClient(core.ClientInput{
		Name: new("Reading Room"), RedirectURIs: &[]string{"https://rp.example/cb"},
	})
	client := webtest.Staying()
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
