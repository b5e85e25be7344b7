package auth

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/auth/authtest"
	"newsletterd/core"
)

// TestRPLogout tests OpenID Connect RP-Initiated Logout 1.0 sections 2 and 3.
func TestRPLogout(t *testing.T) {
	const bye = "https://rp.example/bye"
	f := newFlow(t, nil)
	hint := f.tokens(t0).IDToken
	ask := func(q string, confirmed bool) (LogoutReply, error) {
		t.Helper()
		values, err := url.ParseQuery(q)
		if err != nil {
			t.Fatal(err)
		}
		return f.p.RPLogout(t.Context(), LogoutRequest{Query: values, BrowserID: f.browser.ID, Confirmed: confirmed}, t0)
	}
	for _, tt := range []struct{ name, query, parameter string }{
		{"hint of nobody", "id_token_hint=x", "id_token_hint"},
		{"two clients", "client_id=" + core.NewID() + "&id_token_hint=" + hint, "client_id"},
		{"unknown client", "client_id=" + core.NewID(), "client_id"},
		{"redirect without client", "post_logout_redirect_uri=" + bye, "post_logout_redirect_uri"},
		{
			"redirect not registered", "post_logout_redirect_uri=https://evil.example/&id_token_hint=" + hint,
			"post_logout_redirect_uri",
		},
		{
			"redirect of the login", "post_logout_redirect_uri=" + callback + "&id_token_hint=" + hint,
			"post_logout_redirect_uri",
		},
		{"state twice", "state=a&state=b", "state"},
	} {
		_, err := ask(tt.query, false)
		if e, ok := errors.AsType[*LogoutError](err); !ok || e.Parameter != tt.parameter {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	for _, q := range []string{
		"", "client_id=" + f.client.ID,
		"post_logout_redirect_uri=" + bye + "&client_id=" + f.client.ID,
	} {
		if r, err := ask(q, false); err != nil || r.Done || r.User.ID != f.user.ID {
			t.Errorf("%q signs out unasked: %+v, %v", q, r, err)
		}
	}
	if _, err := f.s.Visitor(t.Context(), f.browser.ID, "", t0); err != nil {
		t.Fatalf("signed out already: %v", err)
	}
	r, err := ask("state=s%26t&post_logout_redirect_uri="+bye+"&id_token_hint="+hint, false)
	if err != nil || !r.Done || r.Location != bye+"?state=s%26t" {
		t.Errorf("with hint: %+v, %v", r, err)
	}
	if _, err := f.s.Visitor(t.Context(), f.browser.ID, "", t0); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("still signed in: %v", err)
	}
	if r, err := ask("post_logout_redirect_uri="+bye+"&id_token_hint="+hint, false); err != nil || r.Location != bye {
		t.Errorf("nobody is signed in: %+v, %v", r, err)
	}
}

// TestLogoutEndsWhatBeganInTheBrowser tests OpenID Connect Back-Channel Logout 1.0 section 2.7, for a logout at the
// provider itself.
func TestLogoutEndsWhatBeganInTheBrowser(t *testing.T) {
	f := newFlow(t, nil)
	online, err := f.redeem(f.code("scope=openid", t0), t0)
	if err != nil {
		t.Fatal(err)
	}
	offline := f.tokens(t0)
	elsewhere := f.browser
	f.browser = core.Browser{}
	f.signIn(t0)
	other, err := f.redeem(f.code("scope=openid", t0), t0)
	if err != nil {
		t.Fatal(err)
	}
	f.browser = elsewhere
	if r, err := f.p.RPLogout(t.Context(), LogoutRequest{BrowserID: f.browser.ID, Confirmed: true}, t0); err != nil ||
		!r.Done {
		t.Fatalf("%+v, %v", r, err)
	}
	for name, token := range map[string]TokenResponse{"online": online, "offline": offline, "elsewhere": other} {
		if err := f.bearer(token.AccessToken, t0); (err == nil) == (name == "online") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRevokeAndIntrospect tests RFC 7009 section 2 and RFC 7662 section 2.
func TestRevokeAndIntrospect(t *testing.T) {
	f := newFlow(t, nil)
	other, secret := f.s.NewClient(core.ClientInput{ClientType: new(core.ClientConfidential)})
	stranger := ClientCredentials{ID: other.ID, Secret: secret}
	public, _ := f.s.NewClient(core.ClientInput{})
	see := func(c ClientCredentials, token string) Introspection {
		t.Helper()
		i, err := f.p.Introspect(t.Context(), c, token, t0)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	for name, kind := range map[string]func(TokenResponse) string{
		"access":  func(r TokenResponse) string { return r.AccessToken },
		"refresh": func(r TokenResponse) string { return r.RefreshToken },
	} {
		r := f.tokens(t0)
		token := kind(r)
		if i := see(f.creds, token); !i.Active || i.Subject != f.user.ID || i.ClientID != f.client.ID || i.ExpiresAt == 0 ||
			i.Scope == "" {
			t.Errorf("%s: %+v", name, i)
		}
		if i := see(stranger, token); i.Active != (name == "access") {
			t.Errorf("%s seen by another: %+v", name, i)
		}
		if err := f.p.Revoke(t.Context(), stranger, token, t0); !errors.Is(err, ErrInvalidGrant) {
			t.Errorf("%s revoked by another: %v", name, err)
		}
		if err := f.p.Revoke(t.Context(), ClientCredentials{ID: f.client.ID}, token, t0); !errors.Is(err, ErrInvalidClient) {
			t.Errorf("%s revoked without secret: %v", name, err)
		}
		if err := f.bearer(r.AccessToken, t0); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := f.p.Revoke(t.Context(), f.creds, token, t0); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := f.bearer(r.AccessToken, t0); !errors.Is(err, ErrBadToken) {
			t.Errorf("%s revoked: access token: %v", name, err)
		}
		for _, token := range []string{r.AccessToken, r.RefreshToken} {
			if i := see(f.creds, token); i != (Introspection{}) {
				t.Errorf("%s revoked: %+v", name, i)
			}
		}
	}
	for _, c := range []ClientCredentials{{}, {ID: public.ID}, {ID: f.client.ID, Secret: "x"}} {
		if _, err := f.p.Introspect(t.Context(), c, "x", t0); !errors.Is(err, ErrInvalidClient) {
			t.Errorf("introspection by %+v: %v", c, err)
		}
	}
	for _, token := range []string{"x", "a.b.c", core.NewToken(), f.tokens(t0).IDToken} {
		if err := f.p.Revoke(t.Context(), f.creds, token, t0); err != nil {
			t.Errorf("revoking %.10s: %v", token, err)
		}
		if i := see(f.creds, token); i.Active {
			t.Errorf("%.10s is active", token)
		}
	}
	r := f.tokens(t0)
	if _, err := f.p.RefreshGrant(t.Context(), GrantRequest{Client: f.creds, RefreshToken: r.RefreshToken},
		t0); err != nil {
		t.Fatal(err)
	}
	if i := see(f.creds, r.RefreshToken); i.Active {
		t.Error("a used refresh token is active")
	}
}

func TestIntrospectionStaysWithinTheTenant(t *testing.T) {
	f := newFlow(t, nil)
	tenant, err := core.NewTenant(core.TenantInput{Name: new("Acme")}, t0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.s.AddTenant(t.Context(), tenant, "test"); err != nil {
		t.Fatal(err)
	}
	c, secret := f.s.NewClient(core.ClientInput{ClientType: new(core.ClientConfidential), TenantID: &tenant.ID})
	if i, err := f.p.Introspect(t.Context(), ClientCredentials{ID: c.ID, Secret: secret}, f.tokens(t0).AccessToken,
		t0); err != nil || i.Active {
		t.Errorf("%+v, %v", i, err)
	}
}

// TestKeyRotation checks that the next key is published a day before it signs, and that the old key is removed when its
// last token has expired.
func TestKeyRotation(t *testing.T) {
	f := newFlow(t, nil)
	kids := func(now core.Instant) map[string]bool {
		t.Helper()
		f.p.keys.loaded = 0 // as after a minute
		set, err := f.p.KeySet(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]bool{}
		for _, k := range set.Keys {
			m[k.Kid] = true
		}
		return m
	}
	tend := func(every time.Duration, now core.Instant) {
		t.Helper()
		if _, err := f.p.TendKeys(t.Context(), every, now); err != nil {
			t.Fatal(err)
		}
	}
	old := kids(t0)
	made, err := RotateKeys(t.Context(), f.p.store, t0)
	if err != nil || len(made) != 2 || len(old) != 2 {
		t.Fatalf("%d made of %d, %v", len(made), len(old), err)
	}
	if again, err := RotateKeys(t.Context(), f.p.store, t0); err != nil || len(again) != 0 {
		t.Errorf("again: %d, %v", len(again), err)
	}
	if n := len(kids(t0)); n != 4 {
		t.Errorf("%d keys published", n)
	}
	before := t0.Add(keyLead - time.Second)
	last := f.tokens(before)
	if strings.Contains(authtest.Header(t, last.AccessToken), made[0].KID) {
		t.Error("the next key signs before its time")
	}
	after := t0.Add(keyLead)
	kids(after)
	if head := authtest.Header(t, f.tokens(after).AccessToken); !strings.Contains(head, made[0].KID) {
		t.Errorf("the next key doesn't sign: %s", head)
	}
	if err := f.bearer(last.AccessToken, after); err != nil {
		t.Errorf("a token of the old key: %v", err)
	}
	tend(0, after)
	end := after.Add(f.p.AccessTTL + keyTail)
	if n := len(kids(end - 1)); n != 4 {
		t.Errorf("%d keys before the end", n)
	}
	tend(0, end)
	now := kids(end)
	if len(now) != 2 || !now[made[0].KID] || !now[made[1].KID] {
		t.Errorf("keys %v", now)
	}
	tend(90*24*time.Hour, end)
	if n := len(kids(end)); n != 2 {
		t.Errorf("rotated too early: %d keys", n)
	}
	due := made[0].ActiveAt.Add(89 * 24 * time.Hour)
	tend(90*24*time.Hour, due)
	if n := len(kids(due)); n != 4 {
		t.Errorf("not rotated: %d keys", n)
	}
}

func TestKeyOutlivesTokensOfTheCommandLine(t *testing.T) {
	p, s := testProvider(t, nil)
	u := addUser(t, p, "ann@example.org")
	token, _, err := p.AdminToken(t.Context(), u, "", 60*24*time.Hour, t0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := RotateKeys(t.Context(), p.store, t0); err != nil {
		t.Fatal(err)
	}
	for now := t0.Add(keyLead); now < t0.Add(59*24*time.Hour); now = now.Add(10 * 24 * time.Hour) {
		if _, err := p.TendKeys(t.Context(), 0, now); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Bearer(t.Context(), token.AccessToken, now); err != nil {
			t.Fatalf("after %v: %v", now.Sub(t0), err)
		}
	}
	if keys, err := s.SigningKeys(t.Context(), t0.Add(70*24*time.Hour)); err != nil || len(keys) != 2 {
		t.Errorf("%d keys at the end, %v", len(keys), err)
	}
}

func TestDiscoveryNamesOnlyTheIssuer(t *testing.T) {
	p, _ := testProvider(t, nil)
	d := p.Discovery()
	for _, u := range []string{
		d.Issuer, d.AuthorizationEndpoint, d.TokenEndpoint, d.UserinfoEndpoint, d.JWKSURI,
		d.RevocationEndpoint, d.IntrospectionEndpoint, d.EndSessionEndpoint,
	} {
		if !strings.HasPrefix(u, "https://id.example/api") {
			t.Errorf("address %s", u)
		}
	}
}

func TestDiscoveryNamesTheLanguagesOfPages(t *testing.T) {
	p, _ := testProvider(t, nil)
	if got := p.Discovery().UILocales; !slices.Equal(got, []string{"en", "de", "fr", "es"}) {
		t.Errorf("ui_locales_supported: %s", got)
	}
}
