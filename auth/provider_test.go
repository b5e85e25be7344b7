package auth

import (
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/identity"
	"newsletterd/store/storetest"
)

// t0 is the time at which tests take place.
const t0 core.Instant = 1_800_000_000_000

// cheapCost keeps the tests fast. A Provider accepts it only in a test binary.
var cheapCost = Argon2{Memory: 64, Passes: 1, Threads: 1}

// sharedRSA is one RSA key for all tests, because generating a key takes longer than most tests.
var sharedRSA = sync.OnceValue(func() core.SigningKey {
	key, err := generate(algRS256, t0)
	if err != nil {
		panic(err)
	}
	return key
})

// testProvider returns a provider for a database, and a seeder whose records are created at t0. If the database is nil,
// it creates one.
func testProvider(t testing.TB, s *store.Store, change ...func(*Config)) (*Provider, *storetest.Seeder) {
	t.Helper()
	seed := storetest.Seed(t, s).At(t0)
	c := Config{
		Issuer: "https://id.example/api", RefreshGrace: 10 * time.Second, PasswordCost: cheapCost,
		CommonPasswords: "allow",
	}
	for _, f := range change {
		f(&c)
	}
	key := sharedRSA()
	key.CreatedAt, key.ActiveAt = t0, t0
	seed.Must(seed.AddFirstSigningKey(t.Context(), key))
	p, err := New(t.Context(), seed.Store, c, t0)
	seed.Must(err)
	return p, seed
}

const goodPassword = "correct horse battery"

// addUser creates a user with goodPassword whose address is not verified.
func addUser(t testing.TB, p *Provider, email string, roles ...core.Role) core.User {
	t.Helper()
	hash, err := p.hasher.Hash(t.Context(), goodPassword)
	if err != nil {
		t.Fatal(err)
	}
	return storetest.Seed(t, p.store).At(t0).NewUser(core.Email(email), hash, func(u *core.User) {
		u.EmailVerified, u.Roles = false, roles
	})
}

var remote = netip.MustParseAddr("192.0.2.7")

func login(email, password, scope string) GrantRequest {
	return GrantRequest{Username: email, Password: password, Scope: scope, Remote: remote}
}

func mustLogin(t testing.TB, p *Provider, email, scope string, now core.Instant) TokenResponse {
	t.Helper()
	r, err := p.PasswordGrant(t.Context(), login(email, goodPassword, scope), now)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPasswordGrant(t *testing.T) {
	p, _ := testProvider(t, nil)
	u := addUser(t, p, "Ann@example.org")
	r, err := p.PasswordGrant(t.Context(), login("ann@EXAMPLE.org", goodPassword, "openid email admin nonsense"), t0)
	if err != nil {
		t.Fatal(err)
	}
	if r.TokenType != "Bearer" || r.ExpiresIn != 900 || r.Scope != "openid email" || r.RefreshToken == "" ||
		r.IDToken == "" {
		t.Errorf("got %+v", r)
	}
	c, err := p.Bearer(t.Context(), r.AccessToken, t0)
	if err != nil || c.UserID != u.ID || c.ClientID != "newsletterd" || c.Email != "Ann@example.org" ||
		strings.Join(c.Scopes, " ") != "openid email" {
		t.Errorf("caller %+v, %v", c, err)
	}
}

func TestPasswordGrantRefusals(t *testing.T) {
	p, s := testProvider(t, nil)
	addUser(t, p, "ann@example.org")
	off := addUser(t, p, "off@example.org")
	if _, err := s.UpdateUser(t.Context(), off.ID, identity.UserInput{Disabled: new(true)}, t0); err != nil {
		t.Fatal(err)
	}
	nopass := core.NewUser("nopass@example.org", t0)
	if err := s.AddUser(t.Context(), nopass, "", t0); err != nil {
		t.Fatal(err)
	}
	conf, secret := s.NewClient(core.ClientInput{ClientType: new("confidential")})
	pub, _ := s.NewClient(core.ClientInput{Scopes: &[]string{"email"}})
	with := func(r GrantRequest, c ClientCredentials) GrantRequest { r.Client = c; return r }
	good := login("ann@example.org", goodPassword, "")
	for _, c := range []struct {
		name string
		req  GrantRequest
		want error
	}{
		{"wrong password", login("ann@example.org", "wrong password", ""), ErrBadCredentials},
		{"unknown user", login("bob@example.org", goodPassword, ""), ErrBadCredentials},
		{"no address", login("ann", goodPassword, ""), ErrBadCredentials},
		{"disabled user", login("off@example.org", goodPassword, ""), ErrBadCredentials},
		{"user without password", login("nopass@example.org", "", ""), ErrBadCredentials},
		{
			"scopes that can't be given", login("ann@example.org", goodPassword, "admin newsletter:send"),
			ErrInvalidScope,
		},
		{"scope in no form", login("ann@example.org", goodPassword, "openid\temail"), ErrInvalidScope},
		{"unknown client", with(good, ClientCredentials{ID: core.NewID()}), ErrInvalidClient},
		{"confidential client without secret", with(good, ClientCredentials{ID: conf.ID}), ErrInvalidClient},
		{"wrong secret", with(good, ClientCredentials{ID: conf.ID, Secret: "x"}), ErrInvalidClient},
		{"public client with a secret", with(good, ClientCredentials{ID: pub.ID, Secret: "x"}), ErrInvalidClient},
		{
			"beyond the client's scopes", with(login("ann@example.org", goodPassword, "openid"),
				ClientCredentials{ID: pub.ID}),
			ErrInvalidScope,
		},
	} {
		if _, err := p.PasswordGrant(t.Context(), c.req, t0); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := p.PasswordGrant(t.Context(), with(good, ClientCredentials{ID: conf.ID, Secret: secret}), t0); err != nil {
		t.Errorf("confidential client with its secret: %v", err)
	}
}
