package auth

import (
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/auth/authtest"
	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store"
	"newsletterd/store/identity"
	"newsletterd/store/storetest"
)

const (
	verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" // RFC 7636 appendix B
	callback = "https://rp.example/cb"
)

// flow is one user in one browser at one client.
type flow struct {
	t       testing.TB
	p       *Provider
	s       *storetest.Seeder
	user    core.User
	browser core.Browser
	client  core.Client
	creds   ClientCredentials
}

// newFlow creates a flow in a database. If that is nil, it creates a new database.
func newFlow(t testing.TB, s *store.Store, change ...func(*core.ClientInput)) *flow {
	t.Helper()
	p, seed := testProvider(t, s)
	f := &flow{t: t, p: p, s: seed, user: addUser(t, p, "ann@example.org")}
	in := core.ClientInput{
		ClientType: new(core.ClientConfidential), RedirectURIs: &[]string{callback},
		PostLogoutRedirectURIs: &[]string{"https://rp.example/bye"},
	}
	for _, c := range change {
		c(&in)
	}
	var secret string
	f.client, secret = seed.NewClient(in)
	f.creds = ClientCredentials{ID: f.client.ID, Secret: secret}
	f.signIn(t0)
	return f
}

func (f *flow) signIn(now core.Instant) {
	f.t.Helper()
	b, _, err := f.p.SignIn(f.t.Context(), SignInRequest{
		Email: "ann@example.org", Password: goodPassword,
		BrowserID: f.browser.ID, Remote: remote,
	}, now)
	if err != nil {
		f.t.Fatal(err)
	}
	f.browser = b
}

// query returns an authorization request, with the same changes as in request.
func (f *flow) query(changes string) url.Values {
	q := url.Values{
		"client_id": {f.client.ID}, "redirect_uri": {callback}, "response_type": {"code"},
		"scope":          {"openid email offline_access"},
		"code_challenge": {rfcChallenge}, "code_challenge_method": {"S256"}, "state": {"s"}, "nonce": {"n"},
	}
	change, _ := url.ParseQuery(changes)
	for name, v := range change {
		if v[0] == "-" {
			q.Del(name)
		} else {
			q.Set(name, v[0])
		}
	}
	return q
}

func (f *flow) authorize(changes string, now core.Instant) AuthorizeReply {
	f.t.Helper()
	r, err := f.p.Authorize(f.t.Context(), AuthorizeRequest{
		Query: f.query(changes), BrowserID: f.browser.ID,
		AgreedBy: f.user.ID,
	}, now)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

func (f *flow) code(changes string, now core.Instant) string {
	f.t.Helper()
	r := f.authorize(changes, now)
	if r.Step != StepCode || r.Error != "" {
		f.t.Fatalf("step %d, error %s", r.Step, r.Error)
	}
	u, _ := url.Parse(r.Location)
	return u.Query().Get("code")
}

func (f *flow) redeem(code string, now core.Instant) (TokenResponse, error) {
	return f.p.CodeGrant(f.t.Context(), GrantRequest{
		Client: f.creds, Code: code, RedirectURI: callback,
		Verifier: verifier,
	}, now)
}

func (f *flow) tokens(now core.Instant) TokenResponse {
	f.t.Helper()
	r, err := f.redeem(f.code("", now), now)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

func (f *flow) bearer(token string, now core.Instant) error {
	_, err := f.p.Bearer(f.t.Context(), token, now)
	return err
}

// TestCodeGrant tests OpenID Connect Core sections 3.1.2.5, 3.1.3.3, 3.1.3.6 and 2, and RFC 9207 section 2.
func TestCodeGrant(t *testing.T) {
	f := newFlow(t, nil)
	now := t0.Add(time.Minute)
	reply := f.authorize("state=a%26b", now)
	u, err := url.Parse(reply.Location)
	if err != nil || !strings.HasPrefix(reply.Location, callback+"?") || u.Query().Get("state") != "a&b" ||
		u.Query().Get("iss") != f.p.Issuer {
		t.Fatalf("location %s", reply.Location)
	}
	r, err := f.redeem(u.Query().Get("code"), now.Add(59*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if r.TokenType != "Bearer" || r.ExpiresIn != 900 || r.RefreshToken == "" || r.Scope != "openid email offline_access" {
		t.Errorf("answer %+v", r)
	}
	id, err := f.p.readHint(t.Context(), r.IDToken, now)
	if err != nil || id.Nonce != "n" || id.AtHash != atHash(r.AccessToken) || id.AuthTime != seconds(t0) ||
		id.Audience != f.client.ID ||
		id.Subject != f.user.ID || len(id.AMR) != 1 || id.AMR[0] != "pwd" || id.SessionID == "" {
		t.Errorf("id token %+v, %v", id, err)
	}
	caller, err := f.p.Bearer(t.Context(), r.AccessToken, now.Add(time.Minute))
	if err != nil || caller.UserID != f.user.ID || caller.ClientID != f.client.ID {
		t.Errorf("caller %+v, %v", caller, err)
	}
	info, err := f.p.UserInfo(t.Context(), caller)
	if err != nil || info.Subject != f.user.ID || *info.Email != "ann@example.org" || info.Name != "" {
		t.Errorf("userinfo %+v, %v", info, err)
	}
}

func TestCodeIsBound(t *testing.T) {
	f := newFlow(t, nil)
	other, secret := f.s.NewClient(core.ClientInput{
		ClientType:   new(core.ClientConfidential),
		RedirectURIs: &[]string{callback},
	})
	good := GrantRequest{Client: f.creds, RedirectURI: callback, Verifier: verifier}
	code := f.code("", t0)
	for name, change := range map[string]func(*GrantRequest){
		"redirect_uri missing": func(r *GrantRequest) { r.RedirectURI = "" },
		"redirect_uri":         func(r *GrantRequest) { r.RedirectURI += "/" },
		"verifier missing":     func(r *GrantRequest) { r.Verifier = "" },
		"verifier":             func(r *GrantRequest) { r.Verifier = strings.Repeat("a", 43) },
		"challenge":            func(r *GrantRequest) { r.Verifier = rfcChallenge },
		"another client":       func(r *GrantRequest) { r.Client = ClientCredentials{ID: other.ID, Secret: secret} },
		"another code":         func(r *GrantRequest) { r.Code = core.NewToken() },
		"no code":              func(r *GrantRequest) { r.Code = "" },
	} {
		r := good
		r.Code = code
		change(&r)
		if _, err := f.p.CodeGrant(t.Context(), r, t0); !errors.Is(err, ErrInvalidGrant) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, creds := range map[string]ClientCredentials{
		"no secret": {ID: f.client.ID}, "wrong secret": {ID: f.client.ID, Secret: secret}, "nobody": {},
		"unknown": {ID: core.NewID(), Secret: secret},
	} {
		r := good
		r.Code, r.Client = code, creds
		if _, err := f.p.CodeGrant(t.Context(), r, t0); !errors.Is(err, ErrInvalidClient) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.redeem(code, t0); err != nil {
		t.Errorf("after all that: %v", err)
	}
	if _, err := f.redeem(f.code("", t0), t0.Add(codeTTL)); !errors.Is(err, ErrInvalidGrant) {
		t.Errorf("expired: %v", err)
	}
}

// TestCodeWithoutClientID checks that a public client may leave out client_id, as the specification says, and that a
// code of a confidential client is refused without its secret.
func TestCodeWithoutClientID(t *testing.T) {
	f := newFlow(t, nil, func(in *core.ClientInput) { in.ClientType = new(core.ClientPublic) })
	ask := func(code, verifier string, c ClientCredentials) (TokenResponse, error) {
		return f.p.CodeGrant(t.Context(), GrantRequest{
			Client: c, Code: code, RedirectURI: callback, Verifier: verifier,
		}, t0)
	}
	code := f.code("", t0)
	if _, err := ask(code, strings.Repeat("a", 43), ClientCredentials{}); !errors.Is(err, errVerifier) {
		t.Errorf("another verifier: %v", err)
	}
	if _, err := ask(code, verifier, ClientCredentials{Secret: "x"}); !errors.Is(err, ErrInvalidClient) {
		t.Errorf("a secret without a client: %v", err)
	}
	r, err := ask(code, verifier, ClientCredentials{})
	if err != nil {
		t.Fatal(err)
	}
	caller, err := f.p.Bearer(t.Context(), r.AccessToken, t0)
	if err != nil || caller.ClientID != f.client.ID || caller.UserID != f.user.ID {
		t.Errorf("caller %+v, %v", caller, err)
	}
	if _, err := ask(code, verifier, ClientCredentials{}); !errors.Is(err, ErrInvalidGrant) {
		t.Errorf("used: %v", err)
	}
	if err := f.bearer(r.AccessToken, t0); !errors.Is(err, ErrBadToken) {
		t.Errorf("access token after the code was used again: %v", err)
	}
	if _, err := ask(core.NewToken(), verifier, ClientCredentials{}); !errors.Is(err, ErrInvalidGrant) {
		t.Errorf("unknown code: %v", err)
	}
	if err := f.s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(code, verifier, ClientCredentials{}); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("without a database: %v", err)
	}
}

// TestCodeReuseRevokes checks that using a code twice revokes everything that was issued for it (RFC 6749 section
// 4.1.2).
func TestCodeReuseRevokes(t *testing.T) {
	f := newFlow(t, nil)
	code := f.code("", t0)
	r, err := f.redeem(code, t0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.bearer(r.AccessToken, t0); err != nil {
		t.Fatal(err)
	}
	if _, err := f.redeem(code, t0.Add(time.Hour)); !errors.Is(err, ErrInvalidGrant) {
		t.Errorf("second use: %v", err)
	}
	if err := f.bearer(r.AccessToken, t0); !errors.Is(err, ErrBadToken) {
		t.Errorf("access token: %v", err)
	}
	if _, err := f.p.RefreshGrant(t.Context(), GrantRequest{Client: f.creds, RefreshToken: r.RefreshToken},
		t0); !errors.Is(err, ErrInvalidGrant) {
		t.Errorf("refresh token: %v", err)
	}
}

func TestCodeInParallelIsGoodOnce(t *testing.T) {
	tried := 0
	defer coretest.Held(t, 18, &tried, "uses of a code at once")
	f := newFlow(t, nil)
	code := f.code("", t0)
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for range 12 {
		tried++
		wg.Go(func() {
			if _, err := f.redeem(code, t0); err == nil {
				mu.Lock()
				won++
				mu.Unlock()
			} else if !errors.Is(err, ErrInvalidGrant) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d of 12 got tokens", won)
	}
}

// TestCodeEndsWithTheUser checks that everything that ends the user's sign-ins also ends codes that were not exchanged
// yet.
func TestCodeEndsWithTheUser(t *testing.T) {
	disabled := true
	for name, end := range map[string]func(f *flow) error{
		"password": func(f *flow) error { return f.s.SetPassword(t.Context(), f.user.ID, "x", t0) },
		"logout":   func(f *flow) error { return f.s.LogoutEverywhere(t.Context(), f.user.ID, t0) },
		"disabled": func(f *flow) error {
			_, err := f.s.UpdateUser(t.Context(), f.user.ID, identity.UserInput{Disabled: &disabled}, t0)
			return err
		},
		"erased": func(f *flow) error { return f.s.DeleteUser(t.Context(), f.user.ID) },
	} {
		f := newFlow(t, nil)
		code := f.code("", t0)
		tokens := f.tokens(t0)
		if err := f.bearer(tokens.AccessToken, t0); err != nil {
			t.Fatal(err)
		}
		if err := end(f); err != nil {
			t.Fatal(err)
		}
		if _, err := f.redeem(code, t0); !errors.Is(err, ErrInvalidGrant) {
			t.Errorf("%s: code: %v", name, err)
		}
		if err := f.bearer(tokens.AccessToken, t0); !errors.Is(err, ErrBadToken) {
			t.Errorf("%s: access token: %v", name, err)
		}
		if r := f.authorize("", t0); r.Step != StepLogin {
			t.Errorf("%s: the browser is still signed in: step %d", name, r.Step)
		}
	}
}

func TestRefreshTokenIsGivenByRegistrationOrScope(t *testing.T) {
	codeOnly := func(in *core.ClientInput) { in.GrantTypes = &[]string{"authorization_code"} }
	for _, tt := range []struct {
		name, scope string
		change      func(*core.ClientInput)
		want        bool
	}{
		{"registered", "openid", func(*core.ClientInput) {}, true},
		{"not registered", "openid", codeOnly, false},
		{"offline_access", "openid offline_access", codeOnly, true},
	} {
		f := newFlow(t, nil, tt.change)
		r, err := f.redeem(f.code("scope="+url.QueryEscape(tt.scope), t0), t0)
		if err != nil || (r.RefreshToken != "") != tt.want {
			t.Errorf("%s: refresh token %q, %v", tt.name, r.RefreshToken, err)
		}
		if tt.want {
			next, err := f.p.RefreshGrant(t.Context(), GrantRequest{Client: f.creds, RefreshToken: r.RefreshToken},
				t0.Add(time.Hour))
			id, _ := f.p.readHint(t.Context(), next.IDToken, t0)
			// OpenID Connect Core section 12.2
			if err != nil || id.AuthTime != seconds(t0) || id.Nonce != "" || id.Subject != f.user.ID {
				t.Errorf("%s: refreshed: %v, id token %+v", tt.name, err, id)
			}
		}
	}
}

func TestIDTokenAlgorithmIsTheClients(t *testing.T) {
	for _, alg := range []string{algRS256, algES256} {
		f := newFlow(t, nil, func(in *core.ClientInput) { in.IDTokenAlg = &alg })
		r := f.tokens(t0)
		if got := authtest.Header(t, r.IDToken); !strings.Contains(got, `"alg":"`+alg+`"`) ||
			!strings.Contains(got, `"kid":"`) {
			t.Errorf("header %s, want %s", got, alg)
		}
	}
}

func TestAuthorizeAnswers(t *testing.T) {
	f := newFlow(t, nil)
	ask := func(r AuthorizeRequest) AuthorizeReply {
		t.Helper()
		reply, err := f.p.Authorize(t.Context(), r, t0)
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	if r := ask(AuthorizeRequest{Query: f.query("")}); r.Step != StepLogin {
		t.Errorf("nobody: step %d", r.Step)
	}
	if r := ask(AuthorizeRequest{Query: f.query(""), BrowserID: f.browser.ID}); r.Step != StepConsent ||
		len(r.Scopes) != 3 {
		t.Errorf("signed in: step %d, scopes %v", r.Step, r.Scopes)
	}
	r := ask(AuthorizeRequest{Query: f.query(""), BrowserID: f.browser.ID, Denied: true})
	if r.Error != "access_denied" || !strings.Contains(r.Location, "error=access_denied") ||
		!strings.Contains(r.Location, "state=s") || !strings.Contains(r.Location, "iss=") {
		t.Errorf("denied: %s", r.Location)
	}
	if r := ask(AuthorizeRequest{Query: f.query("prompt=none")}); r.Error != "login_required" {
		t.Errorf("none: %s", r.Error)
	}
	f.code("", t0)
	if r := ask(AuthorizeRequest{Query: f.query("prompt=none"), BrowserID: f.browser.ID}); r.Step != StepCode ||
		r.Error != "" {
		t.Errorf("the consent is not remembered: step %d, %s", r.Step, r.Error)
	}
	if r := ask(AuthorizeRequest{Query: f.query("scope=openid+profile"), BrowserID: f.browser.ID}); r.Step != StepConsent {
		t.Errorf("more than was allowed: step %d", r.Step)
	}
	if err := f.s.Disallow(t.Context(), f.user.ID, f.client.ID, t0); err != nil {
		t.Fatal(err)
	}
	if r := ask(AuthorizeRequest{Query: f.query(""), BrowserID: f.browser.ID}); r.Step != StepConsent {
		t.Errorf("disallowed: step %d", r.Step)
	}
	if _, err := f.p.Authorize(t.Context(), AuthorizeRequest{Query: f.query("redirect_uri=https://evil.example/")},
		t0); err == nil {
		t.Error("a foreign redirect_uri was answered")
	}
}

// TestFaultsAreKnownBeforeTheSignIn checks that the log names the client and the fault even before the user has signed
// in. The client learns nothing until then.
func TestFaultsAreKnownBeforeTheSignIn(t *testing.T) {
	f := newFlow(t, nil)
	ask := func(browser string) AuthorizeReply {
		t.Helper()
		r, err := f.p.Authorize(t.Context(), AuthorizeRequest{
			Query: f.query("code_challenge=-&code_challenge_method=-"), BrowserID: browser,
		}, t0)
		if err != nil {
			t.Fatal(err)
		}
		if r.Fault == nil || r.Fault.Parameter != "code_challenge" || !strings.Contains(r.Fault.Error(), f.client.ID) {
			t.Errorf("fault %v", r.Fault)
		}
		return r
	}
	if r := ask(""); r.Step != StepLogin || r.Error != "" || r.Location != "" {
		t.Errorf("not signed in: step %d, error %q, location %q", r.Step, r.Error, r.Location)
	}
	if r := ask(f.browser.ID); r.Step != StepCode || r.Error != codeInvalidRequest {
		t.Errorf("signed in: step %d, error %q", r.Step, r.Error)
	}
}

func TestIDTokenHint(t *testing.T) {
	f := newFlow(t, nil)
	tokens := f.tokens(t0)
	addUser(t, f.p, "bob@example.org")
	later := t0.Add(time.Hour) // the hint has expired by that time
	if r := f.authorize("prompt=none&id_token_hint="+tokens.IDToken, later); r.Error != "" {
		t.Errorf("own hint: %s", r.Error)
	}
	for _, bad := range []string{"x", tokens.AccessToken, tokens.IDToken[:len(tokens.IDToken)-8] + "AAAAAAAA"} {
		if r := f.authorize("id_token_hint="+bad, later); r.Error != "invalid_request" {
			t.Errorf("hint %.20s: %q", bad, r.Error)
		}
	}
	b, _, err := f.p.SignIn(t.Context(), SignInRequest{Email: "bob@example.org", Password: goodPassword}, later)
	if err != nil {
		t.Fatal(err)
	}
	f.browser = b
	if r := f.authorize("prompt=none&id_token_hint="+tokens.IDToken, later); r.Error != "login_required" {
		t.Errorf("hint of another: %q", r.Error)
	}
}

func TestSignInReplacesTheBrowser(t *testing.T) {
	f := newFlow(t, nil)
	first := f.browser
	f.signIn(t0.Add(time.Hour))
	if _, err := f.s.Visitor(t.Context(), first.ID, "", t0); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("the browser before is still signed in: %v", err)
	}
	if _, err := f.s.Visitor(t.Context(), f.browser.ID, "",
		t0.Add(time.Hour+BrowserTTL)); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("the browser is signed in for ever: %v", err)
	}
}

// TestChangePassword checks that a new password immediately ends all sign-ins except in the browser in which it was
// changed.
func TestChangePassword(t *testing.T) {
	f := newFlow(t, nil)
	other := f.browser
	f.browser = core.Browser{}
	f.signIn(t0)
	tokens := f.tokens(t0)
	if err := f.bearer(tokens.AccessToken, t0); err != nil {
		t.Fatal(err)
	}
	v, err := f.s.Visitor(t.Context(), f.browser.ID, "", t0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.p.ChangePassword(t.Context(), v, "wrong", "another good one", remote, "",
		t0); !errors.Is(err, ErrBadCredentials) {
		t.Errorf("wrong password: %v", err)
	}
	if err := f.p.ChangePassword(t.Context(), v, goodPassword, "short", remote, "", t0); err == nil {
		t.Error("weak password taken")
	}
	if err := f.p.ChangePassword(t.Context(), v, goodPassword, "another good one", remote, "", t0); err != nil {
		t.Fatal(err)
	}
	if err := f.bearer(tokens.AccessToken, t0); !errors.Is(err, ErrBadToken) {
		t.Errorf("access token: %v", err)
	}
	if _, err := f.s.Visitor(t.Context(), other.ID, "", t0); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("another browser: %v", err)
	}
	if _, err := f.s.Visitor(t.Context(), f.browser.ID, "", t0); err != nil {
		t.Errorf("this browser: %v", err)
	}
	if _, _, err := f.p.SignIn(t.Context(), SignInRequest{Email: "ann@example.org", Password: "another good one"},
		t0); err != nil {
		t.Errorf("new password: %v", err)
	}
}

// TestKnownDeviceIsNotLockedOut checks that guesses of others can't lock the owner out: a browser with the cookie of an
// earlier sign-in has its own counter.
func TestKnownDeviceIsNotLockedOut(t *testing.T) {
	tried := 0
	defer coretest.Held(t, 22, &tried, "guesses before the user signs in from where it is known")
	p, _ := testProvider(t, nil)
	addUser(t, p, "ann@example.org")
	sign := func(password, device string) (string, error) {
		_, d, err := p.SignIn(t.Context(), SignInRequest{Email: "ann@example.org", Password: password, Device: device},
			t0)
		return d, err
	}
	device, err := sign(goodPassword, "")
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		tried++
		if _, err := sign("guess", ""); !errors.Is(err, ErrBadCredentials) {
			t.Fatal(err)
		}
	}
	if _, err := sign(goodPassword, ""); core.KindOf(err) != core.TooMany {
		t.Errorf("eleventh: %v", err)
	}
	if _, err := sign(goodPassword, core.NewToken()); core.KindOf(err) != core.TooMany {
		t.Errorf("made-up device: %v", err)
	}
	if _, err := sign(goodPassword, device); err != nil {
		t.Errorf("known device: %v", err)
	}
}
