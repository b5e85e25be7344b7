package auth

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"newsletterd/auth/authtest"
	"newsletterd/core"
	"newsletterd/store/identity"
)

func TestParseClaims(t *testing.T) {
	for _, c := range []struct {
		in, claims, sub, acr string
		bad                  bool
	}{
		{in: `{}`},
		{in: `{"userinfo":null,"id_token":null}`},
		{
			in:     `{"userinfo":{"name":null,"email":{"essential":true}},"id_token":{"email":{}}}`,
			claims: "id_token.email userinfo.email userinfo.name",
		},
		{in: `{"userinfo":{"picture":null,"name#de":null,"https://x/y":{"a":[1]}},"more":[1]}`}, // unknown: ignored
		{in: `{"ID_TOKEN":{"name":null}}`}, // names are compared exactly
		{
			in: `{"id_token":{"sub":{"value":"u1"}},"userinfo":{"sub":{"value":"u1"}}}`, claims: "id_token.sub userinfo.sub",
			sub: "u1",
		},
		{in: `{"id_token":{"acr":{"essential":true,"values":["2","1"]}}}`, claims: "id_token.acr", acr: "2 1"},
		{in: `{"id_token":{"acr":{"values":["2"]}}}`, claims: "id_token.acr"}, // voluntary
		{in: `{"id_token":{"email":{"value":"a@b.example"}}}`, claims: "id_token.email"},

		{in: ``, bad: true},
		{in: `null`, bad: true},
		{in: `[]`, bad: true},
		{in: `{} {}`, bad: true},
		{in: `{"userinfo":[]}`, bad: true},
		{in: `{"userinfo":{"name":true}}`, bad: true},
		{in: `{"userinfo":{"name":{"essential":"yes"}}}`, bad: true},
		{in: `{"userinfo":{"name":{"essential":null}}}`, bad: true},
		{in: `{"userinfo":{"name":null,"name":null}}`, bad: true},
		{in: `{"userinfo":{"name":{"essential":true,"essential":false}}}`, bad: true},
		{in: `{"id_token":{"sub":{"value":1}}}`, bad: true},
		{in: `{"id_token":{"sub":{"value":"u1"}},"userinfo":{"sub":{"value":"u2"}}}`, bad: true},
		{in: `{"id_token":{"acr":{"essential":true,"values":"1"}}}`, bad: true},
		{in: `{"id_token":{"acr":{"essential":true,"values":[]}}}`, bad: true},
		{in: `{"a":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`, bad: true},
		{in: `{"a":"` + strings.Repeat("x", maxClaims) + `"}`, bad: true},
		{in: "{\"a\":\"\xff\"}", bad: true},
	} {
		r, err := ParseClaims(c.in)
		if (err != nil) != c.bad || strings.Join(r.Claims, " ") != c.claims || r.Subject != c.sub ||
			strings.Join(r.ACR, " ") != c.acr {
			t.Errorf("%.80s: %+v, %v", c.in, r, err)
		}
	}
}

// FuzzParseClaims checks that the result contains only known claims, each once, and that parsing it again gives the
// same result.
func FuzzParseClaims(f *testing.F) {
	f.Add(`{"userinfo":{"name":{"essential":true}},"id_token":{"acr":{"essential":true,"values":["1"]},"sub":{"value":"u"}}}`)
	f.Add(`{"id_token":{"email":null},"id_token":{}}`)
	f.Add(`[[[`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseClaims(text)
		if err != nil {
			if r.Claims != nil || r.Subject != "" {
				t.Errorf("refused, and %+v", r)
			}
			return
		}
		if !json.Valid([]byte(text)) || len(text) > maxClaims || !slices.IsSorted(r.Claims) {
			t.Errorf("%q: %+v", text, r)
		}
		for i, word := range r.Claims {
			place, name, _ := strings.Cut(word, ".")
			if _, known := claimScope[name]; !known || place != claimsIDToken && place != claimsUserInfo || i > 0 &&
				r.Claims[i-1] == word {
				t.Errorf("%q: %+v", text, r)
			}
		}
	})
}

// TestClaimsAskedForByName checks that claims requested by name are returned in the requested place, without their
// scope, even after a refresh.
func TestClaimsAskedForByName(t *testing.T) {
	f := newFlow(t, nil)
	ask := func(claims, more string) string {
		return url.Values{"claims": {claims}}.Encode() + "&" + more
	}
	const both = `{"id_token":{"name":null,"email":{"essential":true},"email_verified":null,"updated_at":null},"userinfo":{"email":null}}`
	code := f.code(ask(both, "scope=openid+offline_access&acr_values=2+1"), t0)
	r, err := f.redeem(code, t0)
	if err != nil {
		t.Fatal(err)
	}
	if r.Scope != "openid offline_access" {
		t.Errorf("scope %q", r.Scope)
	}
	check := func(when string, r TokenResponse) {
		t.Helper()
		id := authtest.Claims(t, r.IDToken)
		if id["name"] != f.user.Name || id["email"] != "ann@example.org" || id["email_verified"] != false ||
			id["updated_at"] == nil || id["acr"] != "1" {
			t.Errorf("%s: id token %v", when, id)
		}
		caller, err := f.p.Bearer(t.Context(), r.AccessToken, t0)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.p.UserInfo(t.Context(), caller)
		if err != nil || info.Email == nil || *info.Email != "ann@example.org" || info.EmailVerified != nil ||
			info.Name != "" {
			t.Errorf("%s: userinfo %+v, %v", when, info, err)
		}
	}
	check("by the code", r)
	again, err := f.p.RefreshGrant(t.Context(), GrantRequest{Client: f.creds, RefreshToken: r.RefreshToken}, t0)
	if err != nil {
		t.Fatal(err)
	}
	check("by the refresh token", again)

	plain, err := f.redeem(f.code("scope=openid+email+profile", t0), t0)
	if err != nil {
		t.Fatal(err)
	}
	for name := range authtest.Claims(t, plain.IDToken) {
		if name == "email" || name == "name" || name == "preferred_username" || name == "acr" {
			t.Errorf("%s stands in an id token for which nobody asked", name)
		}
	}
}

// TestIDTokenClaims checks that a client with id_token_claims gets the same claims of the granted scopes in the ID
// token as from userinfo, even after a refresh. Only a verified address becomes preferred_username.
func TestIDTokenClaims(t *testing.T) {
	on := func(in *core.ClientInput) { in.IDTokenClaims = new(true) }
	for _, c := range []struct {
		scope    string
		verified bool
		want     []string
	}{
		{"openid", true, nil},
		{"openid profile", true, []string{"name", "updated_at"}},
		{"openid email", true, []string{"email", "email_verified"}},
		{"openid profile email", false, []string{"email", "email_verified", "name", "updated_at"}},
		{"openid profile email", true, []string{"email", "email_verified", "name", "preferred_username", "updated_at"}},
	} {
		f := newFlow(t, nil, on)
		if c.verified {
			if _, err := f.p.store.UpdateUser(t.Context(), f.user.ID, identity.UserInput{Verified: new(true)}, t0); err != nil {
				t.Fatal(err)
			}
			f.signIn(t0)
		}
		r, err := f.redeem(f.code("scope="+url.QueryEscape(c.scope+" offline_access"), t0), t0)
		if err != nil {
			t.Fatal(err)
		}
		again, err := f.p.RefreshGrant(t.Context(), GrantRequest{Client: f.creds, RefreshToken: r.RefreshToken}, t0)
		if err != nil {
			t.Fatal(err)
		}
		caller, err := f.p.Bearer(t.Context(), r.AccessToken, t0)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.p.UserInfo(t.Context(), caller)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(info)
		var said map[string]any
		if err := json.Unmarshal(text, &said); err != nil {
			t.Fatal(err)
		}
		delete(said, "sub")
		if got := slices.Sorted(maps.Keys(said)); !slices.Equal(got, c.want) {
			t.Errorf("%s, verified %v: userinfo has %v, want %v", c.scope, c.verified, got, c.want)
		}
		for when, token := range map[string]string{"by the code": r.IDToken, "by the refresh token": again.IDToken} {
			id := authtest.Claims(t, token)
			for _, name := range []string{"name", "preferred_username", "email", "email_verified", "updated_at"} {
				if id[name] != said[name] {
					t.Errorf("%s, verified %v, %s: %s is %v in the ID token and %v at userinfo", c.scope, c.verified, when, name,
						id[name], said[name])
				}
			}
		}
	}
}

// TestClaimsNeedTheirScopesConsent checks that only clients registered for the scope of a claim get the claim, and only
// after the user was asked.
func TestClaimsNeedTheirScopesConsent(t *testing.T) {
	const email = "claims=%7B%22id_token%22%3A%7B%22email%22%3Anull%7D%7D"
	f := newFlow(t, nil)
	authorize := func(changes, agreed string) AuthorizeReply {
		t.Helper()
		r, err := f.p.Authorize(t.Context(), AuthorizeRequest{
			Query: f.query(changes), BrowserID: f.browser.ID,
			AgreedBy: agreed,
		}, t0)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	authorize("scope=openid", f.user.ID)
	if r := authorize("scope=openid", ""); r.Step != StepCode {
		t.Errorf("consented: step %d", r.Step)
	}
	if r := authorize("scope=openid&"+email, ""); r.Step != StepConsent ||
		!slices.Equal(r.Consent, []string{core.ScopeOpenID, core.ScopeEmail}) {
		t.Errorf("step %d, asked for %v", r.Step, r.Consent)
	}
	authorize("scope=openid&"+email, f.user.ID)
	if r := authorize("scope=openid&"+email, ""); r.Step != StepCode {
		t.Errorf("consented to the claim: step %d", r.Step)
	}

	f = newFlow(t, nil, func(in *core.ClientInput) { in.Scopes = &[]string{core.ScopeOpenID} })
	r, err := f.redeem(f.code("scope=openid&"+email, t0), t0)
	if err != nil {
		t.Fatal(err)
	}
	if c := authtest.Claims(t, r.IDToken); c["email"] != nil {
		t.Errorf("a client without the scope email got %v", c)
	}
}

// TestClaimsThatAreDemanded checks that a request fails if the user or the sign-in doesn't meet its demands.
func TestClaimsThatAreDemanded(t *testing.T) {
	f := newFlow(t, nil)
	for _, c := range []struct {
		claims, more, want string
		step               Step
	}{
		{`{"id_token":{"sub":{"value":"` + f.user.ID + `"}}}`, "", "", StepCode},
		{`{"id_token":{"sub":{"value":"another"}}}`, "", "", StepLogin},
		{`{"id_token":{"sub":{"value":"another"}}}`, "&prompt=none", "login_required", StepCode},
		{`{"id_token":{"acr":{"essential":true,"values":["1","2"]}}}`, "", "", StepCode},
		{`{"id_token":{"acr":{"essential":true,"value":"2"}}}`, "", "unmet_authentication_requirements", StepCode},
		{`{"id_token":{"acr":{"values":["2"]}}}`, "", "", StepCode},
		{`{"id_token":{"acr":`, "", "invalid_request", StepCode},
	} {
		if r := f.authorize("claims="+url.QueryEscape(c.claims)+c.more, t0); r.Step != c.step || r.Error != c.want {
			t.Errorf("%s: step %d, error %q", c.claims, r.Step, r.Error)
		}
	}
}
