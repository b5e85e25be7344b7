package auth

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/auth/authtest"
	"newsletterd/core"
	"newsletterd/store/identity"
)

// TestTOTPVectors tests the vectors of RFC 6238 appendix B for SHA-1, shortened to six digits.
func TestTOTPVectors(t *testing.T) {
	secret := []byte("12345678901234567890")
	for unix, want := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037",
		20000000000: "353130",
	} {
		if got := totpCode(secret, totpStep(core.Instant(unix*1000))); got != want {
			t.Errorf("at %d: %s, want %s", unix, got, want)
		}
	}
}

// TestMatchTOTP checks that a code is valid for its period and the adjacent ones, but not for the period of the last
// accepted code or an earlier one.
func TestMatchTOTP(t *testing.T) {
	secret, at := []byte("12345678901234567890"), totpStep(t0)
	for off, ok := range map[int64]bool{-2: false, -1: true, 0: true, 1: true, 2: false} {
		if step, got := matchTOTP(secret, totpCode(secret, at+off), 0, t0); got != ok || ok && step != at+off {
			t.Errorf("%d periods away: %d, %v", off, step, got)
		}
	}
	if _, ok := matchTOTP(secret, totpCode(secret, at), at, t0); ok {
		t.Error("a code is taken twice")
	}
	if _, ok := matchTOTP(secret, totpCode(secret, at-1), at, t0); ok {
		t.Error("a code before the last one is taken")
	}
}

// factorUser is a verified user with an authenticator app.
type factorUser struct {
	*testing.T
	p        *Provider
	user     core.User
	secret   []byte
	recovery []string
	now      core.Instant
}

func newFactorUser(t *testing.T, change ...func(*Config)) *factorUser {
	p, s := testProvider(t, nil, change...)
	f := &factorUser{T: t, p: p, user: addUser(t, p, "ann@example.org"), now: t0}
	var err error
	if f.user, err = s.UpdateUser(t.Context(), f.user.ID, identity.UserInput{Verified: new(true)}, t0); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *factorUser) setUp() *factorUser {
	f.Helper()
	if err := f.p.SetUpTOTP(f.Context(), f.user, f.now); err != nil {
		f.Fatal(err)
	}
	f.secret, _ = f.p.store.NewTOTP(f.Context(), f.user.ID)
	var err error
	if f.recovery, err = f.p.ConfirmTOTP(f.Context(), f.user, f.code(), core.MailStyle{}, f.now); err != nil {
		f.Fatal(err)
	}
	f.now = f.now.Add(totpPeriod)
	return f
}

func (f *factorUser) code() string { return totpCode(f.secret, totpStep(f.now)) }

// signIn enters the password on the page and returns the pending sign-in.
func (f *factorUser) signIn() (PendingSignIn, error) {
	_, _, err := f.p.SignIn(f.Context(), SignInRequest{Email: "ann@example.org", Password: goodPassword}, f.now)
	needed, ok := errors.AsType[*FactorNeeded](err)
	if !ok {
		return PendingSignIn{}, err
	}
	return ParsePendingSignIn(needed.Pending.Text(), f.now)
}

func (f *factorUser) finish(pending PendingSignIn, code string) (core.Browser, []string, error) {
	b, _, recovery, err := f.p.FinishSignIn(f.Context(), pending, code, SignInRequest{}, f.now)
	return b, recovery, err
}

func TestSignInByTwoSteps(t *testing.T) {
	f := newFactorUser(t)
	if _, err := f.signIn(); err != nil {
		t.Fatal("without a second factor:", err)
	}
	f.setUp()
	pending, err := f.signIn()
	if err != nil || pending.UserID != f.user.ID || pending.SetUp {
		t.Fatalf("%+v, %v", pending, err)
	}
	if browsers, _ := f.p.store.Browsers(t.Context(), f.user.ID, f.now); len(browsers) != 1 {
		t.Error("the password alone signed in:", browsers)
	}
	if _, _, err := f.finish(pending, "000000"); !errors.Is(err, ErrBadCode) {
		t.Error("a wrong code:", err)
	}
	code := f.code()
	b, recovery, err := f.finish(pending, code[:3]+" "+code[3:])
	if err != nil || recovery != nil || b.AMR != amrTOTP {
		t.Fatal(b, recovery, err)
	}
	if _, _, err := f.finish(pending, code); !errors.Is(err, ErrBadCode) {
		t.Error("a code again:", err)
	}
	if _, _, err := f.finish(pending, strings.ToUpper(f.recovery[3])); err != nil {
		t.Error("a recovery code:", err)
	}
	if _, _, err := f.finish(pending, f.recovery[3]); !errors.Is(err, ErrBadCode) {
		t.Error("a recovery code again:", err)
	}
	f.now = f.now.Add(pendingTTL)
	if _, _, err := f.finish(pending, f.code()); !errors.Is(err, ErrPendingOver) {
		t.Error("too late:", err)
	}
}

// TestPendingSignInEndsWithThePassword checks that a changed password ends a sign-in that waits for its code.
func TestPendingSignInEndsWithThePassword(t *testing.T) {
	f := newFactorUser(t).setUp()
	pending, err := f.signIn()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.p.store.SetPassword(t.Context(), f.user.ID, "h", f.now); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.finish(pending, f.code()); !errors.Is(err, identity.ErrSignInStale) {
		t.Error(err)
	}
}

// TestCodesAreThrottled checks that, after ten wrong codes in 15 minutes, even a correct code is not checked.
func TestCodesAreThrottled(t *testing.T) {
	f := newFactorUser(t).setUp()
	for range 10 {
		if err := f.p.CheckCode(t.Context(), f.user.ID, "000000", f.now); !errors.Is(err, ErrBadCode) {
			t.Fatal(err)
		}
	}
	for _, code := range []string{f.code(), f.recovery[0]} {
		if err := f.p.CheckCode(t.Context(), f.user.ID, code, f.now); !errors.Is(err, core.ErrTooMany) {
			t.Error("the eleventh:", err)
		}
	}
	f.now = f.now.Add(15 * time.Minute)
	if err := f.p.CheckCode(t.Context(), f.user.ID, f.code(), f.now); err != nil {
		t.Error("later:", err)
	}
}

func TestPasswordGrantWithASecondFactor(t *testing.T) {
	f := newFactorUser(t).setUp()
	grant := func(otp string) (TokenResponse, error) {
		return f.p.PasswordGrant(t.Context(), GrantRequest{
			Username: "ann@example.org", Password: goodPassword, OTP: otp, Remote: remote,
		}, f.now)
	}
	var e *core.Error
	if _, err := grant(""); !errors.As(err, &e) || e.Code != "invalid_grant" || !e.MFARequired {
		t.Error("no code:", err)
	}
	if _, err := grant("123456"); !errors.As(err, &e) || e.Code != "invalid_grant" || e.MFARequired {
		t.Error("a wrong code:", err)
	}
	r, err := grant(f.code())
	if err != nil {
		t.Fatal(err)
	}
	if amr := fmt.Sprint(authtest.Claims(t, r.IDToken)["amr"]); amr != "[pwd otp mfa]" {
		t.Error(amr)
	}
}

// TestSecondFactorIsDemanded checks which users must have a second factor in each mode. A user with an unverified
// address is never asked for one.
func TestSecondFactorIsDemanded(t *testing.T) {
	operator, staff := []core.Role{{Role: core.RoleOperator}}, []core.Role{{Role: core.RoleTenantAdmin, TenantID: "t"}}
	for _, c := range []struct {
		roles []core.Role
		modes string
	}{
		{nil, "all"}, {staff, "staff all"}, {operator, "operators staff all"},
	} {
		for _, mode := range []string{"", FactorOff, FactorOperators, FactorStaff, FactorAll} {
			p := &Provider{Config: Config{SecondFactor: mode}}
			want := mode != "" && slices.Contains(strings.Fields(c.modes), mode)
			if got := p.Demands(&core.User{EmailVerified: true, Roles: c.roles}); got != want {
				t.Errorf("%v in mode %q: %v", c.roles, mode, got)
			}
			if p.Demands(&core.User{Roles: c.roles}) {
				t.Errorf("%v, not verified, in mode %q", c.roles, mode)
			}
		}
	}
}

// TestSignInSetsUpASecondFactor checks that a user who lacks a required second factor sets it up during the sign-in.
// Only a code of the new app completes the sign-in.
func TestSignInSetsUpASecondFactor(t *testing.T) {
	f := newFactorUser(t, func(c *Config) { c.SecondFactor = FactorAll })
	pending, err := f.signIn()
	if err != nil || !pending.SetUp {
		t.Fatalf("%+v, %v", pending, err)
	}
	f.secret, err = f.p.store.NewTOTP(t.Context(), f.user.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.finish(pending, "000000"); !errors.Is(err, ErrBadCode) {
		t.Error("a wrong code:", err)
	}
	_, recovery, err := f.finish(pending, f.code())
	if err != nil || len(recovery) != recoveryCodes {
		t.Fatal(recovery, err)
	}
	if factor, err := f.p.store.SecondFactor(t.Context(), f.user.ID); err != nil || !factor.Set() ||
		factor.RecoveryCodes != recoveryCodes {
		t.Error(factor, err)
	}
	if _, _, err := f.finish(pending, f.code()); !errors.Is(err, ErrPendingOver) {
		t.Error("again, where it is set up:", err)
	}
	if pending, err = f.signIn(); err != nil || pending.SetUp {
		t.Errorf("the next time: %+v, %v", pending, err)
	}
}

// TestClaimingEndsTheSecondFactor checks that a second factor belongs to the owner of the address: claiming the account
// by email removes another person's factor.
func TestClaimingEndsTheSecondFactor(t *testing.T) {
	p, s := testProvider(t, nil)
	u, err := p.Register(t.Context(), "ann@example.org", goodPassword, core.MailStyle{}, remote, t0)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.SetUpTOTP(t.Context(), u, t0); !errors.Is(err, ErrFactorUnverified) {
		t.Error("not verified:", err)
	}
	// A role that takes the account away from its holder also removes the second factor, however it was added.
	if err := s.SetTOTP(t.Context(), u.ID, newTOTPSecret(), t0); err != nil {
		t.Fatal(err)
	}
	if err := s.ConfirmTOTP(t.Context(), identity.NewTOTP{UserID: u.ID}, t0); err != nil {
		t.Fatal(err)
	}
	key := core.Passkey{ID: core.NewID(), UserID: u.ID, Name: "Phone", Credential: []byte("c"), PublicKey: []byte("k")}
	if err := s.AddPasskey(t.Context(), key, u.Epoch, identity.Answer{Hash: []byte("h"), ExpiresAt: t0 + 1},
		core.MailStyle{},
		t0); err != nil {
		t.Fatal(err)
	}
	if err := s.GrantRole(t.Context(), u.ID, core.Role{Role: core.RoleOperator}, true, t0); err != nil {
		t.Fatal(err)
	}
	if factor, err := s.SecondFactor(t.Context(), u.ID); err != nil || factor.Set() {
		t.Error(factor, err)
	}
	if keys, err := s.Passkeys(t.Context(), u.ID); err != nil || len(keys) != 0 {
		t.Error("passkeys of who had registered the address:", keys, err)
	}
}

// TestPasskeyHost checks that passkeys require a host name and https; for localhost, browsers make an exception.
func TestPasskeyHost(t *testing.T) {
	for origin, want := range map[string][2]string{
		"https://news.example.org":      {"news.example.org"},
		"https://News.example.org:8443": {"news.example.org"},
		"http://localhost:8080":         {"localhost"},
		"http://news.example.org":       {"", PasskeysNeedHTTPS},
		"http://127.0.0.1:8080":         {"", PasskeysNeedHost},
		"https://[::1]":                 {"", PasskeysNeedHost},
		"":                              {"", PasskeysNeedHost},
	} {
		if host, missing := PasskeyHost(origin); (host != want[0]) || missing != want[1] {
			t.Errorf("%q: %q, %q", origin, host, missing)
		}
	}
}

// TestPasskeysThatAreNotOffered checks that no passkeys are offered or accepted where they are impossible, and for
// users with an unverified address.
func TestPasskeysThatAreNotOffered(t *testing.T) {
	ctx := t.Context()
	p, _ := testProvider(t, nil, func(c *Config) { c.Issuer = "http://127.0.0.1:8080/api" })
	u := addUser(t, p, "ann@example.org")
	for what, call := range map[string]func(*Provider) error{
		"options":     func(p *Provider) error { _, err := p.PasskeyOptions("browser", "", t0); return err },
		"new options": func(p *Provider) error { _, err := p.NewPasskeyOptions(ctx, u, "browser", t0); return err },
		"add":         func(p *Provider) error { return p.AddPasskey(ctx, core.Visitor{User: u}, NewPasskey{}, t0) },
		"sign in": func(p *Provider) error {
			_, _, err := p.SignInByPasskey(ctx, PasskeyAnswer{Browser: "b"}, SignInRequest{}, t0)
			return err
		},
		"prove": func(p *Provider) error {
			return p.ProveByPasskey(ctx, core.Visitor{User: u}, PasskeyAnswer{}, netip.Addr{}, t0)
		},
	} {
		if err := call(p); !errors.Is(err, ErrNoPasskeys) {
			t.Errorf("%s on an IP address: %v", what, err)
		}
	}
	p, _ = testProvider(t, nil)
	if _, err := p.NewPasskeyOptions(ctx, u, "browser", t0); !errors.Is(err, ErrFactorUnverified) {
		t.Error("new options of an unverified address:", err)
	}
	if err := p.AddPasskey(ctx, core.Visitor{User: u}, NewPasskey{}, t0); !errors.Is(err, ErrFactorUnverified) {
		t.Error("a passkey of an unverified address:", err)
	}
	u.EmailVerified = true
	for what, err := range map[string]error{
		"add":   p.AddPasskey(ctx, core.Visitor{User: u}, NewPasskey{Browser: "b", Response: "{}"}, t0),
		"prove": p.ProveByPasskey(ctx, core.Visitor{User: u}, PasskeyAnswer{"b", "{}"}, netip.Addr{}, t0),
	} {
		if !errors.Is(err, ErrPasskeyRefused) {
			t.Errorf("%s by an answer that is none: %v", what, err)
		}
	}
}

// TestACR checks that the ID token reports the class of the sign-in as the essential values require.
func TestACR(t *testing.T) {
	for _, c := range []struct {
		amr       string
		essential []string
		answer    string // empty: the requirement isn't met
	}{
		{amrPassword, nil, "1"},
		{amrTOTP, nil, "2"},
		{amrPassword, []string{"2"}, ""},
		{amrTOTP, []string{"2", "1"}, "2"},
		{amrTOTP, []string{"1"}, "1"},
		{amrTOTP, []string{"phr"}, ""},
		{amrDeviceKey, nil, "phr"},
		{amrSyncedKey, []string{"2", "1"}, "2"},
		{amrSyncedKey, []string{"phr", "2"}, "phr"},
	} {
		r := ClaimsRequest{Claims: []string{"id_token.acr", "userinfo.name"}, ACR: c.essential}
		if _, ok := r.reaches(acrOf(c.amr)); ok != (c.answer != "") {
			t.Errorf("%+v: reached %v", c, ok)
		}
		if got := acrAnswer(r.words(acrOf(c.amr)), c.amr); c.answer != "" && got != c.answer {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if got := acrAnswer("userinfo.name", amrTOTP); got != "" {
		t.Error("not asked for:", got)
	}
}
