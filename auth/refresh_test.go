package auth

import (
	"encoding/base64"
	"errors"
	"sync"
	"testing"
	"time"

	"newsletterd/auth/authtest"
	"newsletterd/core"
	"newsletterd/core/coretest"
)

func TestRefreshRotates(t *testing.T) {
	p, _ := testProvider(t, nil)
	addUser(t, p, "ann@example.org")
	first := mustLogin(t, p, "ann@example.org", "openid email", t0)
	now := t0.Add(time.Hour)
	second, err := p.RefreshGrant(t.Context(), GrantRequest{RefreshToken: first.RefreshToken}, now)
	if err != nil {
		t.Fatal(err)
	}
	if second.RefreshToken == first.RefreshToken || second.Scope != "openid email" || second.IDToken == "" {
		t.Errorf("%+v", second)
	}
	a, b := authtest.Claims(t, first.AccessToken), authtest.Claims(t, second.AccessToken)
	if a["sid"] != b["sid"] || a["auth_time"] != b["auth_time"] || a["jti"] == b["jti"] {
		t.Errorf("claims %v, then %v", a, b)
	}
	// A refresh doesn't count as a sign-in.
	if c, err := p.Bearer(t.Context(), second.AccessToken, now); err != nil || c.ProvedAt != t0 {
		t.Error(c, err)
	}
}

// TestRefreshReuse tests RFC 9700 section 4.14.2. The grace period is our own addition.
func TestRefreshReuse(t *testing.T) {
	for _, c := range []struct {
		name  string
		grace time.Duration
		after time.Duration
		used  bool // the successor was used before the reuse
		same  bool // the reuse returns the same successor; otherwise the family ends
	}{
		{"within the grace", 10 * time.Second, 9 * time.Second, false, true},
		{"at its end", 10 * time.Second, 10 * time.Second, false, false},
		{"successor used", 10 * time.Second, time.Second, true, false},
		{"strict", 0, 0, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := testProvider(t, nil, func(cfg *Config) { cfg.RefreshGrace = c.grace })
			addUser(t, p, "ann@example.org")
			first := mustLogin(t, p, "ann@example.org", "email", t0)
			second, err := p.RefreshGrant(t.Context(), GrantRequest{RefreshToken: first.RefreshToken}, t0)
			if err != nil {
				t.Fatal(err)
			}
			live := second
			if c.used {
				if live, err = p.RefreshGrant(t.Context(), GrantRequest{RefreshToken: second.RefreshToken}, t0); err != nil {
					t.Fatal(err)
				}
			}
			now := t0.Add(c.after)
			again, err := p.RefreshGrant(t.Context(), GrantRequest{RefreshToken: first.RefreshToken}, now)
			if c.same {
				if err != nil || again.RefreshToken != second.RefreshToken {
					t.Errorf("again: %+v, %v", again, err)
				}
				return
			}
			if !errors.Is(err, ErrInvalidGrant) {
				t.Errorf("replay: %v", err)
			}
			if _, err := p.RefreshGrant(t.Context(), GrantRequest{RefreshToken: live.RefreshToken}, now); !errors.Is(err,
				ErrInvalidGrant) {
				t.Errorf("live token after a replay: %v", err)
			}
			if _, err := p.Bearer(t.Context(), live.AccessToken, now); !errors.Is(err, ErrBadToken) {
				t.Errorf("access token after a replay: %v", err)
			}
		})
	}
}

// TestRefreshInParallel checks that a family has only one live token, whatever requests are sent concurrently.
func TestRefreshInParallel(t *testing.T) {
	tried := 0
	defer coretest.Held(t, 18, &tried, "uses of a refresh token at once")
	p, _ := testProvider(t, nil)
	addUser(t, p, "ann@example.org")
	first := mustLogin(t, p, "ann@example.org", "email", t0)
	var wg sync.WaitGroup
	successors := make([]string, 12)
	for i := range successors {
		tried++
		wg.Go(func() {
			r, err := p.RefreshGrant(t.Context(), GrantRequest{RefreshToken: first.RefreshToken}, t0)
			if err != nil {
				t.Error(err)
			}
			successors[i] = r.RefreshToken
		})
	}
	wg.Wait()
	for _, s := range successors {
		if s != successors[0] {
			t.Fatalf("two successors: %q, %q", successors[0], s)
		}
	}
}

func TestRefreshLifetimes(t *testing.T) {
	day := 24 * time.Hour
	p, _ := testProvider(t, nil)
	addUser(t, p, "ann@example.org")
	r := mustLogin(t, p, "ann@example.org", "email", t0)
	if _, err := p.RefreshGrant(t.Context(), GrantRequest{RefreshToken: r.RefreshToken}, t0.Add(30*day)); !errors.Is(err,
		ErrInvalidGrant) {
		t.Errorf("after 30 days unused: %v", err)
	}
	var err error
	for at := 29 * day; at < 180*day; at += 29 * day {
		if r, err = p.RefreshGrant(t.Context(), GrantRequest{RefreshToken: r.RefreshToken}, t0.Add(at)); err != nil {
			t.Fatalf("after %v: %v", at, err)
		}
	}
	if r, err = p.RefreshGrant(t.Context(), GrantRequest{RefreshToken: r.RefreshToken},
		t0.Add(180*day-time.Minute)); err != nil ||
		r.ExpiresIn != 60 {
		t.Errorf("a minute before the end: %+v, %v", r, err)
	}
	if _, err = p.RefreshGrant(t.Context(), GrantRequest{RefreshToken: r.RefreshToken}, t0.Add(180*day)); !errors.Is(err,
		ErrInvalidGrant) {
		t.Errorf("at the end: %v", err)
	}
}

// TestRefreshIsBoundToItsClient tests RFC 6749 sections 6 and 10.4.
func TestRefreshIsBoundToItsClient(t *testing.T) {
	p, s := testProvider(t, nil)
	addUser(t, p, "ann@example.org")
	pub, _ := s.NewClient(core.ClientInput{})
	other, _ := s.NewClient(core.ClientInput{})
	conf, secret := s.NewClient(core.ClientInput{ClientType: new("confidential")})
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(conf.ID+":"+secret))
	for _, c := range []struct {
		name  string
		login ClientCredentials
		use   ClientCredentials
		want  error
	}{
		{"public, unnamed", ClientCredentials{ID: pub.ID}, ClientCredentials{}, nil},
		{"public, named", ClientCredentials{ID: pub.ID}, ClientCredentials{ID: pub.ID}, nil},
		{"another public", ClientCredentials{ID: pub.ID}, ClientCredentials{ID: other.ID}, ErrInvalidGrant},
		{"the built-in one", ClientCredentials{ID: pub.ID}, ClientCredentials{ID: "newsletterd"}, ErrInvalidGrant},
		{"built in, unnamed", ClientCredentials{}, ClientCredentials{}, nil},
		{"built in, named", ClientCredentials{}, ClientCredentials{ID: "newsletterd"}, nil},
		{"built in, by another", ClientCredentials{}, ClientCredentials{ID: pub.ID}, ErrInvalidGrant},
		{"confidential, Basic", ClientCredentials{Authorization: basic}, ClientCredentials{Authorization: basic}, nil},
		{
			"confidential, post",
			ClientCredentials{Authorization: basic},
			ClientCredentials{ID: conf.ID, Secret: secret},
			nil,
		},
		{"confidential, unnamed", ClientCredentials{Authorization: basic}, ClientCredentials{}, ErrInvalidClient},
		{
			"confidential, without secret",
			ClientCredentials{Authorization: basic},
			ClientCredentials{ID: conf.ID},
			ErrInvalidClient,
		},
		{
			"confidential, two ways",
			ClientCredentials{Authorization: basic},
			ClientCredentials{ID: conf.ID, Secret: secret, Authorization: basic},
			core.ErrInvalid,
		},
		{"a secret without a client", ClientCredentials{}, ClientCredentials{Secret: "x"}, ErrInvalidClient},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := login("ann@example.org", goodPassword, "email")
			req.Client = c.login
			first, err := p.PasswordGrant(t.Context(), req, t0)
			if err != nil {
				t.Fatal(err)
			}
			use := GrantRequest{RefreshToken: first.RefreshToken}
			use.Client = c.use
			if _, err := p.RefreshGrant(t.Context(), use, t0); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			// A refused request doesn't use up the token.
			use.Client = c.login
			if _, err := p.RefreshGrant(t.Context(), use, t0); err != nil {
				t.Errorf("by its own client: %v", err)
			}
		})
	}
}

func TestRefreshScopes(t *testing.T) {
	p, s := testProvider(t, nil)
	u := addUser(t, p, "op@example.org", core.Role{Role: core.RoleOperator})
	r := mustLogin(t, p, "op@example.org", "openid email admin", t0)
	next := func(scope string) (TokenResponse, error) {
		req := GrantRequest{RefreshToken: r.RefreshToken}
		req.Scope = scope
		out, err := p.RefreshGrant(t.Context(), req, t0)
		if err == nil {
			r = out
		}
		return out, err
	}
	if out, err := next("email"); err != nil || out.Scope != "email" || out.IDToken != "" {
		t.Errorf("fewer: %+v, %v", out, err)
	}
	if out, err := next(""); err != nil || out.Scope != "openid email admin" {
		t.Errorf("all of them again: %+v, %v", out, err)
	}
	if _, err := next("newsletter:send"); !errors.Is(err, ErrInvalidScope) {
		t.Errorf("one that was never given: %v", err)
	}
	if err := s.RevokeRole(t.Context(), u.ID, core.Role{Role: core.RoleOperator}); err != nil {
		t.Fatal(err)
	}
	if out, err := next(""); err != nil || out.Scope != "openid email" {
		t.Errorf("after the role went: %+v, %v", out, err)
	}
}

func TestLogout(t *testing.T) {
	p, _ := testProvider(t, nil)
	addUser(t, p, "ann@example.org")
	addUser(t, p, "bob@example.org")
	ann, bob := mustLogin(t, p, "ann@example.org", "", t0), mustLogin(t, p, "bob@example.org", "", t0)
	used := ann.RefreshToken
	ann, err := p.RefreshGrant(t.Context(), GrantRequest{RefreshToken: used}, t0)
	if err != nil {
		t.Fatal(err)
	}
	caller := func(r TokenResponse) (core.Caller, error) { return p.Bearer(t.Context(), r.AccessToken, t0) }
	b, err := caller(bob)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{ann.RefreshToken, used, "nonsense", ""} {
		if err := p.Logout(t.Context(), b, token, t0); err != nil {
			t.Error(err)
		}
	}
	a, err := caller(ann)
	if err != nil {
		t.Fatalf("somebody else ended the session: %v", err)
	}
	if err := p.Logout(t.Context(), a, used, t0); err != nil { // a used token also identifies its family
		t.Error(err)
	}
	if _, err := caller(ann); !errors.Is(err, ErrBadToken) {
		t.Errorf("after logout: %v", err)
	}
	if _, err := caller(bob); err != nil {
		t.Errorf("the other user: %v", err)
	}
}
