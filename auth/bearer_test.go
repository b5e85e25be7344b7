package auth

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"newsletterd/auth/authtest"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/identity"
	"newsletterd/store/storetest"
)

// TestBearerEndsAtOnce checks that everything that ends a session immediately ends its access tokens, too, even if they
// are cached.
func TestBearerEndsAtOnce(t *testing.T) {
	tenantRole := func(id string) core.Role { return core.Role{Role: core.RoleTenantAdmin, TenantID: id} }
	for name, end := range map[string]func(s *store.Store, u core.User, sid string) error{
		"session revoked": func(s *store.Store, _ core.User, sid string) error {
			return s.RevokeFamily(t.Context(), sid,
				t0)
		},
		"logout everywhere": func(s *store.Store, u core.User, _ string) error {
			return s.LogoutEverywhere(t.Context(), u.ID,
				t0)
		},
		"password set": func(s *store.Store, u core.User, _ string) error {
			return s.SetPassword(t.Context(), u.ID, "x",
				t0)
		},
		"user deleted": func(s *store.Store, u core.User, _ string) error { return s.DeleteUser(t.Context(), u.ID) },
		"user disabled": func(s *store.Store, u core.User, _ string) error {
			_, err := s.UpdateUser(t.Context(), u.ID, identity.UserInput{Disabled: new(true)}, t0)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := testProvider(t, nil)
			u := addUser(t, p, "ann@example.org")
			r := mustLogin(t, p, "ann@example.org", "email", t0)
			c, err := p.Bearer(t.Context(), r.AccessToken, t0)
			if err != nil {
				t.Fatal(err)
			}
			if err := end(s.Store, u, c.SessionID); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Bearer(t.Context(), r.AccessToken, t0); !errors.Is(err, ErrBadToken) {
				t.Errorf("access token: %v", err)
			}
			if _, err := p.RefreshGrant(t.Context(), GrantRequest{RefreshToken: r.RefreshToken},
				t0); !errors.Is(err, ErrInvalidGrant) {
				t.Errorf("refresh token: %v", err)
			}
		})
	}
	t.Run("role revoked", func(t *testing.T) {
		p, s := testProvider(t, nil)
		tenant := s.NewTenant().ID
		u := addUser(t, p, "ann@example.org", tenantRole(tenant))
		r := mustLogin(t, p, "ann@example.org", "email admin", t0)
		if c, err := p.Bearer(t.Context(), r.AccessToken, t0); err != nil || !c.Has("admin") ||
			!c.May(core.ActionListSettings, tenant) {
			t.Fatalf("%+v, %v", c, err)
		}
		if err := s.RevokeRole(t.Context(), u.ID, tenantRole(tenant)); err != nil {
			t.Fatal(err)
		}
		if c, err := p.Bearer(t.Context(), r.AccessToken, t0); err != nil || c.Has("admin") || !c.Has("email") ||
			len(c.Roles) > 0 {
			t.Errorf("%+v, %v", c, err)
		}
	})
	t.Run("client deleted", func(t *testing.T) {
		p, s := testProvider(t, nil)
		c, secret := s.NewClient(core.ClientInput{
			ClientType: new("confidential"),
			Scopes:     &[]string{"newsletter:send"},
		})
		r, err := p.ClientGrant(t.Context(), GrantRequest{Client: ClientCredentials{ID: c.ID, Secret: secret}}, t0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Bearer(t.Context(), r.AccessToken, t0); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteClient(t.Context(), c.ID, "test", t0); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Bearer(t.Context(), r.AccessToken, t0); !errors.Is(err, ErrBadToken) {
			t.Errorf("%v", err)
		}
	})
}

// TestBearerSeesForeignCommits checks that a change by another process takes effect, too.
func TestBearerSeesForeignCommits(t *testing.T) {
	path := t.TempDir() + "/n.db"
	s := storetest.OpenAt(t, path)
	p, err := New(t.Context(), s, Config{Issuer: "https://id.example/api", PasswordCost: cheapCost}, t0)
	if err != nil {
		t.Fatal(err)
	}
	u := addUser(t, p, "ann@example.org")
	r := mustLogin(t, p, "ann@example.org", "email", t0)
	if _, err := p.Bearer(t.Context(), r.AccessToken, t0); err != nil {
		t.Fatal(err)
	}
	other, err := store.Open(t.Context(), db.Options{Path: path, Mode: db.Command})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.LogoutEverywhere(t.Context(), u.ID, t0); err != nil {
		t.Fatal(err)
	}
	// A commit of this process makes the writer check for others; an idle writer checks twice a second.
	if err := s.ForgiveTry(t.Context(), "nobody"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Bearer(t.Context(), r.AccessToken, t0); !errors.Is(err, ErrBadToken) {
		t.Errorf("after a foreign logout: %v", err)
	}
	// A key that another process has created is found when a token names it.
	q, err := New(t.Context(), other, p.Config, t0)
	if err != nil {
		t.Fatal(err)
	}
	mustLogin(t, q, "ann@example.org", "openid", t0)
	if set, err := p.KeySet(t.Context(), t0.Add(2*KeysEvery)); err != nil || len(set.Keys) != 2 {
		t.Errorf("%d keys, %v", len(set.Keys), err)
	}
}

func TestTokenCacheIsBounded(t *testing.T) {
	var c tokenCache
	first := [32]byte{1}
	c.put(first, &verified{})
	for i := range 5 * maxTokens {
		k := [32]byte{2}
		copy(k[1:], strconv.Itoa(i))
		c.put(k, &verified{})
		if i%1000 == 0 && c.get(first) == nil {
			t.Fatal("a token in use was dropped")
		}
	}
	if n := len(c.new) + len(c.old); n > 2*maxTokens {
		t.Errorf("%d tokens are kept", n)
	}
}

func TestCallerOfClientIsHeldToItsTenant(t *testing.T) {
	p, s := testProvider(t, nil)
	mine, other := s.NewTenant().ID, s.NewTenant().ID
	in := core.ClientInput{
		ClientType: new("confidential"), Scopes: &[]string{"openid", "newsletter:send"},
		TenantID: &mine,
	}
	c, secret := s.NewClient(in)
	r, err := p.ClientGrant(t.Context(), GrantRequest{Client: ClientCredentials{ID: c.ID, Secret: secret}}, t0)
	if err != nil || r.Scope != "newsletter:send" || r.RefreshToken != "" || r.IDToken != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	caller, err := p.Bearer(t.Context(), r.AccessToken, t0)
	if err != nil || !caller.May(core.ActionCampaignSend, mine) ||
		caller.May(core.ActionCampaignSend, other) || caller.UserID != "" || caller.ProvedAt != 0 {
		t.Errorf("%+v, %v", caller, err)
	}
	if claims := authtest.Claims(t, r.AccessToken); claims["sub"] != c.ID || claims["client_id"] != c.ID {
		t.Errorf("claims %v", claims)
	}
	if _, err := p.Bearer(t.Context(), r.AccessToken, t0.Add(16*time.Minute)); !errors.Is(err, ErrBadToken) {
		t.Errorf("expired: %v", err)
	}
	if _, err := p.Profile(t.Context(), caller); core.KindOf(err) != core.Forbidden {
		t.Errorf("profile of a client: %v", err)
	}
}

func BenchmarkBearerCached(b *testing.B) {
	p, _ := testProvider(b, nil)
	addUser(b, p, "ann@example.org")
	token := mustLogin(b, p, "ann@example.org", "email", t0).AccessToken
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Bearer(b.Context(), token, t0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBearerStale measures a token after each change of identities: the state is read again, but the signature is
// not verified again.
func BenchmarkBearerStale(b *testing.B) {
	p, _ := testProvider(b, nil)
	addUser(b, p, "ann@example.org")
	token := mustLogin(b, p, "ann@example.org", "email", t0).AccessToken
	for b.Loop() {
		p.generation.Add(1)
		if _, err := p.Bearer(b.Context(), token, t0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBearerUncached(b *testing.B) {
	p, _ := testProvider(b, nil)
	addUser(b, p, "ann@example.org")
	token := mustLogin(b, p, "ann@example.org", "email", t0).AccessToken
	for b.Loop() {
		p.tokens = tokenCache{}
		if _, err := p.Bearer(b.Context(), token, t0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProfile(b *testing.B) {
	p, _ := testProvider(b, nil)
	addUser(b, p, "ann@example.org")
	token := mustLogin(b, p, "ann@example.org", "email", t0).AccessToken
	for b.Loop() {
		c, err := p.Bearer(b.Context(), token, t0)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Profile(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}
