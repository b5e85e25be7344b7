package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"newsletterd/auth/authtest"
	"newsletterd/core"
)

// privateKey returns the key that signs access tokens, as stored in the database.
func privateKey(t testing.TB, p *Provider) (kid string, key *ecdsa.PrivateKey) {
	t.Helper()
	rows, err := p.store.SigningKeys(t.Context(), t0)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if private, err := parsePrivate(row.Private); err == nil && row.Alg == algES256 {
			return row.KID, private.(*ecdsa.PrivateKey)
		}
	}
	t.Fatal("no ES256 key")
	return "", nil
}

// TestForgedAccessTokens tests RFC 9068 section 4, RFC 8725 section 3 and RFC 6750 section 3.1.
func TestForgedAccessTokens(t *testing.T) {
	p, _ := testProvider(t, nil)
	addUser(t, p, "ann@example.org")
	good := mustLogin(t, p, "ann@example.org", "openid email", t0)
	claims := authtest.Claims(t, good.AccessToken)
	kid, key := privateKey(t, p)
	other, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	public, err := key.PublicKey.Bytes() // an attacker would use this as the key of an HMAC
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(good.AccessToken, ".")
	b64 := base64.RawURLEncoding.EncodeToString
	with := func(name string, value any) map[string]any {
		c := maps.Clone(claims)
		if value == nil {
			delete(c, name)
		} else {
			c[name] = value
		}
		return c
	}
	ours := func(c map[string]any) string { return authtest.Forge(t, key, jose.ES256, kid, typAccess, c) }
	if _, err := p.Bearer(t.Context(), ours(with("jti", "another")), t0); err != nil {
		t.Fatalf("a token made like ours: %v", err)
	}
	for name, token := range map[string]string{
		"empty":    "",
		"no JWT":   "x.y.z",
		"alg none": b64([]byte(`{"alg":"none","typ":"at+jwt","kid":"`+kid+`"}`)) + "." + parts[1] + ".",
		"alg none, signed": b64([]byte(`{"alg":"none","typ":"at+jwt","kid":"`+kid+`"}`)) + "." + parts[1] + "." +
			parts[2],
		"HS256 with public key":   authtest.Forge(t, public, jose.HS256, kid, typAccess, claims),
		"other key, our kid":      authtest.Forge(t, other, jose.ES256, kid, typAccess, claims),
		"foreign kid":             authtest.Forge(t, other, jose.ES256, "nobody", typAccess, claims),
		"no kid":                  authtest.Forge(t, key, jose.ES256, "", typAccess, claims),
		"payload changed":         parts[0] + "." + b64([]byte(`{"scope":"admin"}`)) + "." + parts[2],
		"signature cut":           good.AccessToken[:len(good.AccessToken)-2],
		"signature empty":         parts[0] + "." + parts[1] + ".",
		"typ JWT":                 authtest.Forge(t, key, jose.ES256, kid, "JWT", claims),
		"no typ":                  authtest.Forge(t, key, jose.ES256, kid, "", claims),
		"id token":                good.IDToken,
		"other issuer":            ours(with("iss", "https://evil.example")),
		"other audience":          ours(with("aud", "https://evil.example")),
		"list of audiences":       ours(with("aud", []string{p.Issuer, "https://evil.example"})),
		"no iss":                  ours(with("iss", nil)),
		"no aud":                  ours(with("aud", nil)),
		"no exp":                  ours(with("exp", nil)),
		"no iat":                  ours(with("iat", nil)),
		"no sub":                  ours(with("sub", nil)),
		"no sid":                  ours(with("sid", nil)),
		"no scope":                ours(with("scope", nil)),
		"no client_id":            ours(with("client_id", nil)),
		"expired beyond leeway":   ours(with("exp", seconds(t0)-5)),
		"issued in the future":    ours(with("iat", seconds(t0)+6)),
		"not valid yet":           ours(with("nbf", seconds(t0)+6)),
		"exp as text":             ours(with("exp", "9999999999")),
		"somebody else's sub":     ours(with("sub", core.NewID())),
		"another client":          ours(with("client_id", "other")),
		"a session that is none":  ours(with("sid", core.NewID())),
		"refresh token":           good.RefreshToken,
		"longer than any of ours": good.AccessToken + strings.Repeat("A", maxJWT),
	} {
		if _, err := p.Bearer(t.Context(), token, t0); !errors.Is(err, ErrBadToken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCriticalHeader checks that a header that requires an extension is refused (RFC 7515 section 4.1.11).
func TestCriticalHeader(t *testing.T) {
	p, _ := testProvider(t, nil)
	addUser(t, p, "ann@example.org")
	claims := authtest.Claims(t, mustLogin(t, p, "ann@example.org", "", t0).AccessToken)
	kid, key := privateKey(t, p)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key},
		(&jose.SignerOptions{}).WithHeader("kid", kid).WithType(typAccess).WithHeader("crit",
			[]string{"x"}).WithHeader("x",
			true))
	if err != nil {
		t.Fatal(err)
	}
	payload, _ := json.Marshal(claims)
	jws, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := jws.CompactSerialize()
	if _, err := p.Bearer(t.Context(), text, t0); !errors.Is(err, ErrBadToken) {
		t.Errorf("crit: %v", err)
	}
}

// TestClaims tests RFC 9068 section 2.2 and OpenID Connect Core sections 2 and 3.1.3.6.
func TestClaims(t *testing.T) {
	p, s := testProvider(t, nil)
	u := addUser(t, p, "ann@example.org")
	r := mustLogin(t, p, "ann@example.org", "openid email", t0)
	access, id := authtest.Claims(t, r.AccessToken), authtest.Claims(t, r.IDToken)
	now := float64(seconds(t0))
	for name, want := range map[string]any{
		"iss": p.Issuer, "aud": p.Issuer, "sub": u.ID, "client_id": "newsletterd", "scope": "openid email",
		"iat": now, "exp": now + 900, "auth_time": now,
	} {
		if access[name] != want {
			t.Errorf("access token %s = %v, want %v", name, access[name], want)
		}
	}
	for name, want := range map[string]any{
		"iss": p.Issuer, "aud": "newsletterd", "sub": u.ID, "iat": now, "exp": now + 900, "auth_time": now,
		"sid": access["sid"], "at_hash": atHash(r.AccessToken),
	} {
		if id[name] != want {
			t.Errorf("id token %s = %v, want %v", name, id[name], want)
		}
	}
	header := func(token string) map[string]any {
		b, _ := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[0])
		h := map[string]any{}
		_ = json.Unmarshal(b, &h)
		return h
	}
	if h := header(r.AccessToken); h["typ"] != "at+jwt" || h["alg"] != "ES256" || h["kid"] == "" {
		t.Errorf("access token header %v", h)
	}
	if h := header(r.IDToken); h["alg"] != "RS256" || h["kid"] == "" {
		t.Errorf("id token header %v", h)
	}
	c, _ := s.NewClient(core.ClientInput{IDTokenAlg: new("ES256")})
	req := login("ann@example.org", goodPassword, "openid")
	req.Client.ID = c.ID
	r, err := p.PasswordGrant(t.Context(), req, t0)
	if err != nil || header(r.IDToken)["alg"] != "ES256" || authtest.Claims(t, r.IDToken)["aud"] != c.ID {
		t.Errorf("id token of a client with ES256: %v, %v", header(r.IDToken), err)
	}
}

func TestLeeway(t *testing.T) {
	p, s := testProvider(t, nil)
	addUser(t, p, "ann@example.org")
	token := mustLogin(t, p, "ann@example.org", "", t0).AccessToken
	end := t0.Add(900 * time.Second)
	for _, c := range []struct {
		at core.Instant
		ok bool
	}{
		{t0.Add(-5 * time.Second), true},
		{t0.Add(-6 * time.Second), false},
		{end.Add(4 * time.Second), true},
		{end.Add(5 * time.Second), false},
	} {
		fresh, err := New(t.Context(), p.store, p.Config, t0) // without the cache of p
		s.Must(err)
		if _, err := fresh.Bearer(t.Context(), token, c.at); (err == nil) != c.ok {
			t.Errorf("at %v: %v", c.at.Sub(t0), err)
		}
	}
	if _, err := p.Bearer(t.Context(), token, t0); err != nil {
		t.Error(err)
	}
	if _, err := p.Bearer(t.Context(), token, end.Add(5*time.Second)); !errors.Is(err, ErrBadToken) {
		t.Errorf("from the cache, expired: %v", err)
	}
}

func TestAdminToken(t *testing.T) {
	p, s := testProvider(t, nil)
	tenant := s.NewTenant().ID
	op := addUser(t, p, "op@example.org", core.Role{Role: core.RoleOperator})
	ann := addUser(t, p, "ann@example.org", core.Role{Role: core.RoleTenantAdmin, TenantID: tenant})
	r, sid, err := p.AdminToken(t.Context(), op, "admin newsletter:send", 365*24*time.Hour, t0)
	if err != nil || r.Scope != "newsletter:send admin" || r.ExpiresIn != 365*24*3600 {
		t.Fatalf("%+v, %v", r, err)
	}
	late := t0.Add(364 * 24 * time.Hour)
	if c, err := p.Bearer(t.Context(), r.AccessToken, late); err != nil || !c.May(core.ActionKeyManage, "") ||
		c.SessionID != sid {
		t.Errorf("after 364 days: %+v, %v", c, err)
	}
	if err := s.RevokeFamily(t.Context(), sid, late); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Bearer(t.Context(), r.AccessToken, late); !errors.Is(err, ErrBadToken) {
		t.Errorf("revoked: %v", err)
	}
	user, err := s.User(t.Context(), ann.ID)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err = p.AdminToken(t.Context(), user, "admin", time.Hour, t0)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := p.Bearer(t.Context(), r.AccessToken, t0); err != nil || c.May(core.ActionKeyManage, "") ||
		!c.May(core.ActionListSettings, tenant) || c.May(core.ActionListSettings, core.NewID()) {
		t.Errorf("tenant admin: %+v, %v", c, err)
	}
	bob := addUser(t, p, "bob@example.org")
	if _, _, err := p.AdminToken(t.Context(), bob, "admin", time.Hour, t0); !errors.Is(err, ErrInvalidScope) {
		t.Errorf("a user without roles: %v", err)
	}
	if _, _, err := p.AdminToken(t.Context(), op, "admin", 0, t0); core.KindOf(err) != core.Invalid {
		t.Errorf("no life: %v", err)
	}
}

// TestAtHash tests the example of OpenID Connect Core appendix A.3.
func TestAtHash(t *testing.T) {
	if got := atHash("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"); got != "77QmUPtjPfzWtF2AnpK9RQ" {
		t.Errorf("at_hash = %s", got)
	}
}

func FuzzVerifyAccess(f *testing.F) {
	p, _ := testProvider(f, nil)
	addUser(f, p, "ann@example.org")
	good := mustLogin(f, p, "ann@example.org", "", t0).AccessToken
	f.Add(good)
	f.Add("a.b.c")
	f.Add(`eyJhbGciOiJub25lIn0.e30.`)
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := p.verifyAccess(t.Context(), token, t0); err == nil && token != good {
			t.Errorf("%q was accepted", token)
		}
	})
}
