package auth

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
)

// testClient returns one of two clients: the confidential client "web" or the public client "app".
func testClient(id string) (core.Client, error) {
	c := core.Client{
		ID: id, Name: "Web", ClientType: core.ClientConfidential, RequirePKCE: true,
		GrantTypes:   core.Strings{"authorization_code", "refresh_token"},
		RedirectURIs: core.Strings{"https://rp.example/cb", "https://rp.example/cb?fixed=1"},
		Scopes:       core.Strings{"openid", "profile", "email", "offline_access"},
	}
	switch id {
	case "web":
	case "app":
		c.ClientType = core.ClientPublic
		c.RedirectURIs = core.Strings{"http://127.0.0.1/cb", "http://[::1]:7000/cb", "com.example.app:/cb"}
	case "plain":
		c.RequirePKCE = false
	case "machine":
		c.GrantTypes = core.Strings{"client_credentials"}
	case "broken":
		return core.Client{}, core.ErrUnavailable
	default:
		return core.Client{}, core.ErrNotFound
	}
	return c, nil
}

const rfcChallenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" // RFC 7636 appendix B

// request returns a valid request with some parameters changed: "-" removes a parameter, and "+" repeats it.
func request(t *testing.T, changes string) url.Values {
	t.Helper()
	q := url.Values{
		"client_id": {"web"}, "redirect_uri": {"https://rp.example/cb"}, "response_type": {"code"},
		"scope":          {"openid email"},
		"code_challenge": {rfcChallenge}, "code_challenge_method": {"S256"}, "state": {"s"},
	}
	change, err := url.ParseQuery(changes)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range change {
		switch v[0] {
		case "-":
			q.Del(name)
		case "+":
			q.Add(name, q.Get(name))
		default:
			q.Set(name, v[0])
		}
	}
	return q
}

func TestParseAuthorization(t *testing.T) {
	for _, tt := range []struct {
		name, changes string
		code          string // empty: the request is valid
		trusted       bool   // the client gets the error
		parameter     string
	}{
		{"good", "", "", true, ""},
		{"good without state", "state=-", "", true, ""},
		{"unknown parameter is ignored", "foo=bar", "", true, ""},
		{"claims is ignored", "claims={}", "", true, ""},
		{"form_post", "response_mode=form_post", "", true, ""},
		{"unknown prompt is ignored", "prompt=create", "", true, ""},
		{"max_age 0", "max_age=0", "", true, ""},
		{"unknown scope is left out", "scope=openid foo", "", true, ""},
		{"more blanks in the scope", "scope= openid  email ", "", true, ""},
		{"registered query", "redirect_uri=https://rp.example/cb?fixed=1", "", true, ""},

		{"no client", "client_id=-", "invalid_request", false, "client_id"},
		{"unknown client", "client_id=nobody", "invalid_request", false, "client_id"},
		{"client twice", "client_id=%2B", "invalid_request", false, "client_id"},
		{"no redirect_uri", "redirect_uri=-", "invalid_request", false, "redirect_uri"},
		{"redirect_uri twice", "redirect_uri=%2B", "invalid_request", false, "redirect_uri"},
		{"other path", "redirect_uri=https://rp.example/cb/", "invalid_request", false, "redirect_uri"},
		{"other case", "redirect_uri=https://RP.example/cb", "invalid_request", false, "redirect_uri"},
		{"other query", "redirect_uri=https://rp.example/cb?a=b", "invalid_request", false, "redirect_uri"},
		{"fragment", "redirect_uri=https://rp.example/cb%23x", "invalid_request", false, "redirect_uri"},
		{"prefix", "redirect_uri=https://rp.example/cb.evil.example", "invalid_request", false, "redirect_uri"},
		{"javascript", "redirect_uri=javascript:alert(1)", "invalid_request", false, "redirect_uri"},

		{"no response_type", "response_type=-", "invalid_request", true, "response_type"},
		{"token", "response_type=token", "unsupported_response_type", true, "response_type"},
		{"code id_token", "response_type=code id_token", "unsupported_response_type", true, "response_type"},
		{"response_type twice", "response_type=%2B", "invalid_request", true, "response_type"},
		{"fragment mode", "response_mode=fragment", "invalid_request", true, "response_mode"},
		{"state twice", "state=%2B", "invalid_request", true, "state"},
		{"not for code", "client_id=machine", "unauthorized_client", true, "client_id"},
		{"no scope", "scope=-", "invalid_scope", true, "scope"},
		{"bad scope", "scope=a\"b", "invalid_scope", true, "scope"},
		{"tab in scope", "scope=openid\temail", "invalid_scope", true, "scope"},
		{"no known scope", "scope=foo", "invalid_scope", true, "scope"},
		{"not registered for scope", "scope=admin", "invalid_scope", true, "scope"},
		{"no challenge", "code_challenge=-&code_challenge_method=-", "invalid_request", true, "code_challenge"},
		{"no method", "code_challenge_method=-", "invalid_request", true, "code_challenge_method"},
		{"plain", "code_challenge_method=plain", "invalid_request", true, "code_challenge_method"},
		{"lower case s256", "code_challenge_method=s256", "invalid_request", true, "code_challenge_method"},
		{"short challenge", "code_challenge=abc", "invalid_request", true, "code_challenge"},
		{"padded challenge", "code_challenge=" + rfcChallenge + "%3D", "invalid_request", true, "code_challenge"},
		{"no PKCE where it may be left out", "client_id=plain&code_challenge=-&code_challenge_method=-", "", true, ""},
		{
			"plain where PKCE may be left out", "client_id=plain&code_challenge_method=plain", "invalid_request", true,
			"code_challenge_method",
		},
		{"method alone", "client_id=plain&code_challenge=-", "invalid_request", true, "code_challenge"},
		{"none and login", "prompt=none login", "invalid_request", true, "prompt"},
		{"max_age", "max_age=-1", "invalid_request", true, "max_age"},
		{"max_age words", "max_age=soon", "invalid_request", true, "max_age"},
		{"request object", "request=e30.e30.", "request_not_supported", true, "request"},
		{"request_uri", "request_uri=https://rp.example/r", "request_uri_not_supported", true, "request_uri"},
		{"registration", "registration={}", "registration_not_supported", true, "registration"},

		{"loopback port", "client_id=app&redirect_uri=http://127.0.0.1:54321/cb", "", true, ""},
		{"loopback port IPv6", "client_id=app&redirect_uri=http://[::1]:1/cb", "", true, ""},
		{"loopback without port", "client_id=app&redirect_uri=http://127.0.0.1/cb", "", true, ""},
		{
			"loopback path", "client_id=app&redirect_uri=http://127.0.0.1:54321/cb2", "invalid_request", false,
			"redirect_uri",
		},
		{
			"another loopback", "client_id=app&redirect_uri=http://localhost:54321/cb", "invalid_request", false,
			"redirect_uri",
		},
		{
			"loopback prefix", "client_id=app&redirect_uri=http://127.0.0.1.evil.example/cb", "invalid_request", false,
			"redirect_uri",
		},
		{
			"loopback user", "client_id=app&redirect_uri=http://127.0.0.1:80@evil.example/cb", "invalid_request", false,
			"redirect_uri",
		},
		{
			"loopback empty port", "client_id=app&redirect_uri=http://127.0.0.1:/cb", "invalid_request", false,
			"redirect_uri",
		},
		{
			"loopback large port", "client_id=app&redirect_uri=http://127.0.0.1:65536/cb", "invalid_request", false,
			"redirect_uri",
		},
		{"private scheme", "client_id=app&redirect_uri=com.example.app:/cb", "", true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := ParseAuthorization(request(t, strings.ReplaceAll(tt.changes, "code id_token", "code+id_token")),
				testClient)
			if tt.code == "" {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			e, ok := errors.AsType[*AuthorizeError](err)
			if !ok {
				t.Fatalf("accepted: %+v, %v", a, err)
			}
			if e.Code != tt.code || (e.Request != nil) != tt.trusted || e.Parameter != tt.parameter {
				t.Errorf("%s on %q, trusted %v: %s", e.Code, e.Parameter, e.Request != nil, e.Description)
			}
			if e.Request != nil && tt.changes != "state=%2B" && e.Request.State != "s" {
				t.Errorf("state %q", e.Request.State)
			}
		})
	}
	if _, err := ParseAuthorization(request(t, "client_id=broken"), testClient); core.KindOf(err) != core.Unavailable {
		t.Errorf("store failure: %v", err)
	}
}

// TestRegisteredLoopbackPortIsForPublicClients checks that only the loopback URIs of public clients may differ in the
// port.
func TestRegisteredLoopbackPortIsForPublicClients(t *testing.T) {
	registered := []string{"http://127.0.0.1:8000/cb"}
	if Registered(registered, "http://127.0.0.1:8001/cb", false) ||
		!Registered(registered, "http://127.0.0.1:8001/cb", true) {
		t.Error("loopback rule")
	}
}

// TestNext tests OpenID Connect Core sections 3.1.2.3, 3.1.2.4 and 3.1.2.6.
func TestNext(t *testing.T) {
	const now = core.Instant(1_800_000_000_000)
	user := Visit{
		UserID: "u", AuthAt: now.Add(-time.Hour), Allowed: core.UserScopes,
		Consented: []string{"openid", "email"},
	}
	with := func(change func(*Visit)) Visit { v := user; change(&v); return v }
	firstParty := func(a *Authorization) { a.Client.FirstParty = true }
	for _, tt := range []struct {
		name, changes string
		visit         Visit
		client        func(*Authorization)
		step          Step
		code          string
	}{
		{"nobody", "", Visit{}, nil, StepLogin, ""},
		{"nobody, none", "prompt=none", Visit{}, nil, 0, "login_required"},
		{"signed in and agreed", "", user, nil, StepCode, ""},
		{"signed in, none", "prompt=none", user, nil, StepCode, ""},
		{"login", "prompt=login", user, nil, StepLogin, ""},
		{"login done", "prompt=login", with(func(v *Visit) { v.Fresh = true }), nil, StepCode, ""},
		{"select_account", "prompt=select_account", user, nil, StepLogin, ""},
		{"max_age over", "max_age=3599", user, nil, StepLogin, ""},
		{"max_age over, none", "max_age=3599&prompt=none", user, nil, 0, "login_required"},
		{"max_age kept", "max_age=3600", user, nil, StepCode, ""},
		{"max_age 0 after login", "max_age=0", with(func(v *Visit) { v.Fresh = true }), nil, StepCode, ""},
		{"consent", "prompt=consent", user, nil, StepConsent, ""},
		{"consent given", "prompt=consent", with(func(v *Visit) { v.Agreed = true }), nil, StepCode, ""},
		{"login and consent", "prompt=login consent", user, nil, StepLogin, ""},
		{"more than allowed before", "scope=openid profile", user, nil, StepConsent, ""},
		{"more than allowed before, none", "scope=openid profile&prompt=none", user, nil, 0, "consent_required"},
		{"first party", "scope=openid profile", user, firstParty, StepCode, ""},
		{"first party, consent asked for", "scope=openid&prompt=consent", user, firstParty, StepConsent, ""},
		{"hint of this user", "", with(func(v *Visit) { v.HintUser = "u" }), nil, StepCode, ""},
		{"hint of another", "", with(func(v *Visit) { v.HintUser = "w" }), nil, StepLogin, ""},
		{"hint of another, none", "prompt=none", with(func(v *Visit) { v.HintUser = "w" }), nil, 0, "login_required"},
		{
			"hint of another after login", "", with(func(v *Visit) { v.HintUser, v.Fresh = "w", true }), nil, 0,
			"login_required",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := ParseAuthorization(request(t, tt.changes), testClient)
			if err != nil {
				t.Fatal(err)
			}
			if tt.client != nil {
				tt.client(a)
			}
			step, _, e := a.Next(tt.visit, now)
			if step != tt.step || (e == nil) != (tt.code == "") || e != nil && e.Code != tt.code {
				t.Errorf("step %d, %v", step, e)
			}
		})
	}
}

func TestAdminIsNeverGivenUnasked(t *testing.T) {
	a := &Authorization{Client: core.Client{FirstParty: true}, Scopes: []string{"openid", "admin"}}
	v := Visit{UserID: "u", Allowed: core.AllScopes}
	if step, _, _ := a.Next(v, 1); step != StepConsent {
		t.Errorf("operator: step %d", step)
	}
	v.Allowed = core.UserScopes
	if step, scopes, _ := a.Next(v, 1); step != StepCode || len(scopes) != 1 {
		t.Errorf("plain user: step %d, scopes %v", step, scopes)
	}
	a.Scopes = []string{"admin"}
	if _, _, err := a.Next(v, 1); err == nil || err.Code != "invalid_scope" {
		t.Errorf("plain user, admin alone: %v", err)
	}
}

func TestAnswerKeepsTheQueryOfTheRedirectURI(t *testing.T) {
	for uri, want := range map[string]string{
		"https://rp.example/cb":           "https://rp.example/cb?code=a+b&state=%26",
		"https://rp.example/cb?fixed=%41": "https://rp.example/cb?fixed=%41&code=a+b&state=%26",
		"https://rp.example/cb?":          "https://rp.example/cb?code=a+b&state=%26",
	} {
		a := &Authorization{RedirectURI: uri}
		if _, got := a.Answer([2]string{"code", "a b"}, [2]string{"empty", ""}, [2]string{"state", "&"}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestVerifier(t *testing.T) {
	const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" // RFC 7636 appendix B
	for _, tt := range []struct {
		name, challenge, verifier string
		want                      bool
	}{
		{"RFC 7636 B", rfcChallenge, verifier, true},
		{"wrong", rfcChallenge, strings.Replace(verifier, "d", "e", 1), false},
		{"missing", rfcChallenge, "", false},
		{"the challenge itself", rfcChallenge, rfcChallenge, false},
		{"too short", rfcChallenge, "abc", false},
		{"too long", rfcChallenge, strings.Repeat("a", 129), false},
		{"bad characters", rfcChallenge, strings.Repeat("+", 43), false},
		{"none at all", "", "", true},
		{"verifier without challenge", "", verifier, false},
	} {
		if got := checkVerifier(tt.challenge, tt.verifier); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// FuzzParseAuthorization checks that an error goes to a redirect URI only if that URI is registered.
func FuzzParseAuthorization(f *testing.F) {
	f.Add(request(&testing.T{}, "").Encode())
	f.Add("client_id=app&redirect_uri=http://127.0.0.1:1/cb")
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		a, err := ParseAuthorization(q, testClient)
		if e, ok := errors.AsType[*AuthorizeError](err); ok {
			a = e.Request
		}
		if a == nil {
			return
		}
		if u, err := url.Parse(a.RedirectURI); err != nil || u.Hostname() != "rp.example" && u.Hostname() != "127.0.0.1" &&
			u.Hostname() != "::1" && u.Scheme != "com.example.app" {
			t.Fatalf("trusts %q", a.RedirectURI)
		}
		if _, location := a.Answer([2]string{"state", a.State}); strings.ContainsAny(location, "\r\n") {
			t.Fatalf("location %q", location)
		}
	})
}
