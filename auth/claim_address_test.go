package auth

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/identity"
)

// TestRegistrationsAreCountedByOrigin checks that the owner of an address still gets an email if a stranger registers
// the address again and again.
func TestRegistrationsAreCountedByOrigin(t *testing.T) {
	p, _ := testProvider(t, nil)
	register := func(from string) int {
		t.Helper()
		if _, err := p.Register(t.Context(), "ann@example.org", "a password of mine", core.MailStyle{},
			netip.MustParseAddr(from),
			t0); err != nil {
			t.Fatal(err)
		}
		kinds, _ := mails(t, p, "ann@example.org")
		return len(strings.Fields(kinds))
	}
	for i, want := range []int{1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4} {
		if got := register("198.51.100.1"); got != want {
			t.Errorf("registration %d of a stranger: %d mails, want %d", i, got, want)
		}
	}
	for i, c := range []struct {
		from string
		want int
	}{
		{"203.0.113.7", 5},
		{"203.0.113.7", 6},
		{"203.0.113.7", 7},
		{"203.0.113.7", 7},
		{"2001:db8::1", 8},
		{"2001:db8::2", 9},
		{"2001:db8::3", 10},
		{"2001:db8::4", 10}, // the same network
		{"203.0.113.8", 10}, // ten requests that caused emails, which is the limit for a day
	} {
		if got := register(c.from); got != c.want {
			t.Errorf("%d, %s: %d mails, want %d", i, c.from, got, c.want)
		}
	}
}

// TestProveAddress checks the page of the first email. It asks for a password, because a stranger who registered the
// address knows only the old one.
func TestProveAddress(t *testing.T) {
	for _, c := range []struct {
		name, password string
		want           AddressProof
		role           bool
	}{
		{"the password of the registration", "the first password", AddressVerified, false},
		{"a new one", goodPassword, AddressTaken, false},
		{"the password of the registration, with a role that is pending", "the first password", AddressTaken, true},
		{"a new one, with a role that is pending", goodPassword, AddressTaken, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, s := testProvider(t, nil)
			u, err := p.Register(t.Context(), "ann@example.org", "the first password", core.MailStyle{}, netip.Addr{},
				t0)
			if err != nil {
				t.Fatal(err)
			}
			first, err := p.PasswordGrant(t.Context(), login("ann@example.org", "the first password", ""), t0)
			if err != nil {
				t.Fatal(err)
			}
			if c.role {
				s.Must(s.GrantRole(t.Context(), u.ID, core.Role{Role: core.RoleOperator}, false, t0))
			}
			_, token := mails(t, p, "ann@example.org")
			prove := func(token, password string) (AddressProof, error) {
				return p.ProveAddress(t.Context(), "ann@example.org", token, password, "password", t0)
			}
			if _, err := prove(token+"x", c.password); !errors.Is(err, core.ErrInvalidToken) {
				t.Errorf("another token: %v", err)
			}
			if _, err := prove(token, "short"); core.KindOf(err) != core.Invalid || errors.Is(err, core.ErrInvalidToken) {
				t.Errorf("a weak password: %v", err)
			}
			if v, err := p.CheckAddressToken(t.Context(), "ann@example.org", token, t0); v || err != nil {
				t.Errorf("before: %v, %v", v, err)
			}
			if got, err := prove(token, c.password); got != c.want || err != nil {
				t.Errorf("%v, %v", got, err)
			}
			_, err = p.Bearer(t.Context(), first.AccessToken, t0)
			if stands := err == nil; stands != (c.want == AddressVerified) {
				t.Errorf("the session of before stands: %v, %v", stands, err)
			}
			_, err = p.PasswordGrant(t.Context(), login("ann@example.org", "the first password", ""), t0)
			if works := err == nil; works != (c.password == "the first password") {
				t.Errorf("the password of the registration works: %v, %v", works, err)
			}
			if _, err := p.PasswordGrant(t.Context(), login("ann@example.org", c.password, ""), t0); err != nil {
				t.Errorf("the password that was entered: %v", err)
			}
			got, err := s.User(t.Context(), u.ID)
			if err != nil || !got.EmailVerified || got.Operator() != c.role {
				t.Errorf("%+v, %v", got, err)
			}
			if got, err := prove(token, "yet another password"); got != AddressWasVerified || err != nil {
				t.Errorf("again: %v, %v", got, err)
			}
			if _, err := p.PasswordGrant(t.Context(), login("ann@example.org", "yet another password", ""), t0); err == nil {
				t.Error("a token that was used sets a password")
			}
		})
	}
}

// TestARoleWaitsForTheOwnerOfTheAddress checks that a role doesn't help a stranger who registered the account. It takes
// effect once the owner of the mailbox proves the address, or an operator confirms it. The old password and sessions
// then end.
func TestARoleWaitsForTheOwnerOfTheAddress(t *testing.T) {
	operator := core.Role{Role: core.RoleOperator}
	type world struct {
		*testing.T
		p    *Provider
		s    *store.Store
		user core.User
	}
	verifyToken := func(w world) string {
		_, token := mails(w.T, w.p, "ann@example.org")
		return token
	}
	for _, c := range []struct {
		name string
		do   func(w world) error
		role bool // the role takes effect
	}{
		{"nothing", func(world) error { return nil }, false},
		{"the API verifies", func(w world) error {
			_, err := w.p.VerifyEmail(w.Context(), "ann@example.org", verifyToken(w), t0)
			return err
		}, true},
		{"a new password by mail", func(w world) error {
			if err := w.p.Forgot(w.Context(), "ann@example.org", core.MailStyle{}, t0); err != nil {
				return err
			}
			_, token := mails(w.T, w.p, "ann@example.org")
			return w.p.ResetPassword(w.Context(), "ann@example.org", token, goodPassword, "password", t0)
		}, true},
		{"the operator vouches with a role", func(w world) error {
			return w.s.GrantRole(w.Context(), w.user.ID, operator, true, t0)
		}, true},
		{"the operator vouches", func(w world) error {
			u, err := w.s.UpdateUser(w.Context(), w.user.ID, identity.UserInput{Verified: new(true)}, t0)
			if err == nil && !u.Operator() {
				w.Error("the answer says that the role is pending")
			}
			return err
		}, true},
		{"an address that the stranger owns", func(w world) error {
			v, r := core.Visitor{User: w.user}, EmailChangeRequest{
				Password: "the stranger's own",
				Email:    "stranger@example.net",
			}
			err := w.p.AskEmailChange(w.Context(), v, r, t0)
			if err != nil {
				return err
			}
			_, token := mails(w.T, w.p, "stranger@example.net")
			return w.p.ChangeEmail(w.Context(), w.user.ID, "stranger@example.net", token, "", t0)
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, s := testProvider(t, nil)
			u, err := p.Register(t.Context(), "ann@example.org", "the stranger's own", core.MailStyle{}, netip.Addr{},
				t0)
			if err != nil {
				t.Fatal(err)
			}
			token, err := p.PasswordGrant(t.Context(), login("ann@example.org", "the stranger's own", ""), t0)
			if err != nil {
				t.Fatal(err)
			}
			s.Must(s.GrantRole(t.Context(), u.ID, operator, false, t0))
			s.Must(c.do(world{t, p, s.Store, u}))
			if got, err := s.User(t.Context(), u.ID); err != nil || got.Operator() != c.role {
				t.Errorf("%+v, %v", got, err)
			}
			if caller, err := p.Bearer(t.Context(), token.AccessToken, t0); c.role && err == nil || caller.HasRole() {
				t.Errorf("the stranger's token: %+v, %v", caller, err)
			}
			login := login("ann@example.org", "the stranger's own", "admin")
			if got, err := p.PasswordGrant(t.Context(), login, t0); err == nil {
				t.Errorf("the stranger's password gives a token with the scope %q", got.Scope)
			}
		})
	}
}

// TestARoleEndsAnUnprovedPassword checks that an operator can verify an address, but not the password from its
// registration. A role ends that password, unless the owner of the address has redeemed an emailed token or set another
// password.
func TestARoleEndsAnUnprovedPassword(t *testing.T) {
	operator := core.Role{Role: core.RoleOperator}
	const first, email = "the first password", "ann@example.org"
	for _, c := range []struct {
		name  string
		do    func(t *testing.T, p *Provider, s *store.Store, u core.User, token string) error
		vouch bool
		want  string // password that works afterwards
	}{
		{"the operator vouches", func(t *testing.T, _ *Provider, s *store.Store, u core.User, _ string) error {
			_, err := s.UpdateUser(t.Context(), u.ID, identity.UserInput{Verified: new(true)}, t0)
			return err
		}, false, ""},
		{"the operator vouches twice", func(t *testing.T, _ *Provider, s *store.Store, u core.User, _ string) error {
			_, err := s.UpdateUser(t.Context(), u.ID, identity.UserInput{Verified: new(true)}, t0)
			return err
		}, true, ""},
		{"the API verifies", func(t *testing.T, p *Provider, _ *store.Store, _ core.User, token string) error {
			_, err := p.VerifyEmail(t.Context(), email, token, t0)
			return err
		}, false, first},
		{
			"the API verifies, the operator vouches",
			func(t *testing.T, p *Provider, _ *store.Store, _ core.User, token string) error {
				_, err := p.VerifyEmail(t.Context(), email, token, t0)
				return err
			}, true, first,
		},
		{
			"the page, with the password of the registration",
			func(t *testing.T, p *Provider, _ *store.Store, _ core.User, token string) error {
				_, err := p.ProveAddress(t.Context(), email, token, first, "password", t0)
				return err
			}, false, first,
		},
		{"the page, with a new one", func(t *testing.T, p *Provider, _ *store.Store, _ core.User, token string) error {
			_, err := p.ProveAddress(t.Context(), email, token, goodPassword, "password", t0)
			return err
		}, false, goodPassword},
		{"a new password by mail", func(t *testing.T, p *Provider, _ *store.Store, _ core.User, token string) error {
			if _, err := p.VerifyEmail(t.Context(), email, token, t0); err != nil {
				return err
			}
			if err := p.Forgot(t.Context(), email, core.MailStyle{}, t0); err != nil {
				return err
			}
			_, token = mails(t, p, email)
			return p.ResetPassword(t.Context(), email, token, goodPassword, "password", t0)
		}, true, goodPassword},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, s := testProvider(t, nil)
			u, err := p.Register(t.Context(), email, first, core.MailStyle{}, netip.Addr{}, t0)
			s.Must(err)
			old, err := p.PasswordGrant(t.Context(), login(email, first, ""), t0)
			s.Must(err)
			_, token := mails(t, p, email)
			s.Must(c.do(t, p, s.Store, u, token))
			s.Must(s.GrantRole(t.Context(), u.ID, operator, c.vouch, t0))
			if got, err := s.User(t.Context(), u.ID); err != nil || !got.Operator() || !got.EmailVerified {
				t.Errorf("%+v, %v", got, err)
			}
			for _, password := range []string{first, goodPassword} {
				if _, err := p.PasswordGrant(t.Context(), login(email, password, "admin"),
					t0); (err == nil) != (password == c.want) {
					t.Errorf("password %q: %v", password, err)
				}
			}
			_, err = p.RefreshGrant(t.Context(), GrantRequest{RefreshToken: old.RefreshToken, Remote: remote}, t0)
			if (err == nil) != (c.want == first) {
				t.Errorf("the refresh token of before: %v", err)
			}
			// Another role doesn't end a password that the owner has set.
			if err := p.Forgot(t.Context(), email, core.MailStyle{}, t0); err != nil {
				t.Fatal(err)
			}
			_, token = mails(t, p, email)
			s.Must(p.ResetPassword(t.Context(), email, token, "the owner's own", "password", t0))
			s.Must(s.RevokeRole(t.Context(), u.ID, operator))
			s.Must(s.GrantRole(t.Context(), u.ID, operator, true, t0))
			if _, err := p.PasswordGrant(t.Context(), login(email, "the owner's own", "admin"), t0); err != nil {
				t.Errorf("the owner's password, after another grant: %v", err)
			}
		})
	}
}

// TestClaimAddress checks that a person who first registers someone else's address gains nothing by that.
func TestClaimAddress(t *testing.T) {
	p, s := testProvider(t, nil)
	if _, err := p.Register(t.Context(), "ann@example.org", "the hijacker's own", core.MailStyle{}, netip.Addr{},
		t0); err != nil {
		t.Fatal(err)
	}
	evil, err := p.PasswordGrant(t.Context(), login("ann@example.org", "the hijacker's own", ""), t0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Register(t.Context(), "ann@example.org", "a password of mine", core.MailStyle{}, netip.Addr{},
		t0); err != nil {
		t.Fatal(err)
	}
	_, token := mails(t, p, "ann@example.org")
	if _, err := p.VerifyEmail(t.Context(), "ann@example.org", token, t0); !errors.Is(err, core.ErrInvalidToken) {
		t.Errorf("a claim token verified: %v", err)
	}
	if err := p.ClaimAddress(t.Context(), "ann@example.org", token, goodPassword, "new_password", t0); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Bearer(t.Context(), evil.AccessToken, t0); !errors.Is(err, ErrBadToken) {
		t.Errorf("the hijacker's session stands: %v", err)
	}
	if _, err := p.PasswordGrant(t.Context(), login("ann@example.org", "the hijacker's own", ""),
		t0); !errors.Is(err, ErrBadCredentials) {
		t.Errorf("the hijacker's password works: %v", err)
	}
	mustLogin(t, p, "ann@example.org", "", t0)
	if u, _ := s.UserByEmail(t.Context(), "ann@example.org"); !u.EmailVerified {
		t.Error("the address is not verified")
	}
}
