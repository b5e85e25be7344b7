package auth

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store/identity"
)

// mails returns the kinds of the emails queued for an address, and the token of the last one.
func mails(t testing.TB, p *Provider, email string) (kinds, token string) {
	t.Helper()
	rows, err := p.store.DueMails(t.Context(), t0.Add(1000*time.Hour), 1000)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range rows {
		if m.Email.Key() == email {
			all = append(all, m.Kind)
			token = p.MailToken(m.Kind, m.TokenID)
		}
	}
	return strings.Join(all, " "), token
}

func TestRegister(t *testing.T) {
	p, s := testProvider(t, nil)
	old := addUser(t, p, "old@example.org")
	if _, err := s.UpdateUser(t.Context(), old.ID, identity.UserInput{Verified: new(true)}, t0); err != nil {
		t.Fatal(err)
	}
	addUser(t, p, "unsure@example.org")
	seen := map[string]bool{}
	for _, c := range []struct {
		email string
		at    time.Duration
		mails string // kinds of the emails to the address so far
		fresh bool
	}{
		{"new@example.org", 0, "verify", true},
		{"NEW@example.org", time.Hour, "verify claim", false},
		{"new@example.org", 2 * time.Hour, "verify claim claim", false},
		{"new@example.org", 2 * time.Hour, "verify claim claim claim", false},
		{"new@example.org", 2 * time.Hour, "verify claim claim claim", false}, // three a day
		{"new@example.org", 26 * time.Hour, "verify claim claim claim claim", false},
		{"old@example.org", 0, "already_registered", false},
		{"old@example.org", time.Hour, "already_registered already_registered", false},
		{"old@example.org", time.Hour, "already_registered already_registered already_registered", false},
		{"old@example.org", time.Hour, "already_registered already_registered already_registered", false},
		{"unsure@example.org", 0, "claim", false},
	} {
		u, err := p.Register(t.Context(), core.Email(c.email), "a password of mine", core.MailStyle{}, netip.Addr{},
			t0.Add(c.at))
		if err != nil || u.EmailVerified || string(u.Email) != c.email || u.CreatedAt != t0.Add(c.at) || seen[u.ID] {
			t.Errorf("%s after %v: %+v, %v", c.email, c.at, u, err)
		}
		seen[u.ID] = true
		if kinds, _ := mails(t, p, strings.ToLower(c.email)); kinds != c.mails {
			t.Errorf("%s after %v: mails %q, want %q", c.email, c.at, kinds, c.mails)
		}
		stored, err := s.UserByEmail(t.Context(), core.Email(c.email))
		if err != nil || (stored.ID == u.ID) != c.fresh {
			t.Errorf("%s: %v, stored %v", c.email, err, stored.ID == u.ID)
		}
	}
	for email, password := range map[string]string{
		"old@example.org": goodPassword,
		"new@example.org": "a password of mine",
	} {
		if _, err := p.PasswordGrant(t.Context(), login(email, password, ""), t0); err != nil {
			t.Errorf("%s: the first password is no longer the one: %v", email, err)
		}
	}
}

func TestRegisterSettings(t *testing.T) {
	p, _ := testProvider(t, nil, func(c *Config) { c.ClosedRegistration = true })
	if _, err := p.Register(t.Context(), "a@example.org", goodPassword, core.MailStyle{}, netip.Addr{},
		t0); core.KindOf(err) != core.Forbidden {
		t.Errorf("closed: %v", err)
	}
	p, _ = testProvider(t, nil, func(c *Config) { c.RegisterConflict = true })
	if _, err := p.Register(t.Context(), "a@example.org", goodPassword, core.MailStyle{}, netip.Addr{}, t0); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Register(t.Context(), "A@example.org", goodPassword, core.MailStyle{}, netip.Addr{},
		t0); !errors.Is(err, identity.ErrUserExists) {
		t.Errorf("conflict: %v", err)
	}
	for setting, refused := range map[string]bool{"auto": true, "refuse": true, "allow": false} {
		p, _ = testProvider(t, nil, func(c *Config) { c.CommonPasswords = setting })
		if _, err := p.Register(t.Context(), "a@example.org", "password123", core.MailStyle{}, netip.Addr{},
			t0); (err != nil) != refused {
			t.Errorf("%s under https: %v", setting, err)
		}
	}
	p, _ = testProvider(t, nil, func(c *Config) { c.CommonPasswords, c.Issuer = "auto", "http://127.0.0.1:8080/api" })
	if _, err := p.Register(t.Context(), "a@example.org", "password123", core.MailStyle{}, netip.Addr{}, t0); err != nil {
		t.Errorf("auto under http: %v", err)
	}
}

func TestVerifyEmail(t *testing.T) {
	p, s := testProvider(t, nil)
	u, err := p.Register(t.Context(), "Ann@example.org", goodPassword, core.MailStyle{}, netip.Addr{}, t0)
	if err != nil {
		t.Fatal(err)
	}
	_, token := mails(t, p, "ann@example.org")
	for _, c := range []struct {
		name, email, token string
		at                 time.Duration
		want               error
	}{
		{"another address", "bob@example.org", token, 0, core.ErrInvalidToken},
		{"another token", "ann@example.org", token + "x", 0, core.ErrInvalidToken},
		{"too late", "ann@example.org", token, 48 * time.Hour, core.ErrTokenExpired},
		{"in time", "ann@EXAMPLE.org", token, 48*time.Hour - 1e6, nil},
		{"again, much later", "ann@example.org", token, 1000 * time.Hour, nil},
	} {
		got, err := p.VerifyEmail(t.Context(), core.Email(c.email), c.token, t0.Add(c.at))
		if !errors.Is(err, c.want) || (err == nil && got != "Ann@example.org") {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
	// An operator has marked the address as unverified, so the used token no longer proves anything.
	if _, err := s.UpdateUser(t.Context(), u.ID, identity.UserInput{Verified: new(false)}, t0); err != nil {
		t.Fatal(err)
	}
	if _, err := p.VerifyEmail(t.Context(), "ann@example.org", token, t0); !errors.Is(err, core.ErrInvalidToken) {
		t.Errorf("used, and verified no longer: %v", err)
	}
}

func TestResetPassword(t *testing.T) {
	p, s := testProvider(t, nil)
	addUser(t, p, "ann@example.org")
	session := mustLogin(t, p, "ann@example.org", "", t0)
	var tokens []string
	for range 4 {
		if err := p.Forgot(t.Context(), "Ann@example.org", core.MailStyle{}, t0); err != nil {
			t.Fatal(err)
		}
		_, token := mails(t, p, "ann@example.org")
		tokens = append(tokens, token)
	}
	if kinds, _ := mails(t, p, "ann@example.org"); kinds != "reset reset reset" {
		t.Errorf("mails in one hour: %q", kinds)
	}
	if err := p.Forgot(t.Context(), "nobody@example.org", core.MailStyle{}, t0); err != nil {
		t.Errorf("unknown address: %v", err)
	}
	reset := func(email core.Email, token, password string, at time.Duration) error {
		return p.ResetPassword(t.Context(), email, token, password, "new_password", t0.Add(at))
	}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"another address", reset("bob@example.org", tokens[0], "a new password", 0), "invalid_token"},
		{"weak", reset("ann@example.org", tokens[0], "short", 0), "weak_password"},
		{"too late", reset("ann@example.org", tokens[0], "a new password", time.Hour), "token_expired"},
		{"good", reset("ann@example.org", tokens[0], "a new password", time.Hour-1e6), ""},
		{"again", reset("ann@example.org", tokens[0], "a new password", 0), "invalid_token"},
		{"the other tokens ended with it", reset("ann@example.org", tokens[1], "a new password", 0), "invalid_token"},
	} {
		var e *core.Error
		if errors.As(c.err, &e); (e == nil && c.want != "") || (e != nil && e.Code != c.want) {
			t.Errorf("%s: %v", c.name, c.err)
		}
	}
	if _, err := p.Bearer(t.Context(), session.AccessToken, t0); !errors.Is(err, ErrBadToken) {
		t.Errorf("the old session stands: %v", err)
	}
	if _, err := p.PasswordGrant(t.Context(), login("ann@example.org", "a new password", ""), t0); err != nil {
		t.Errorf("the new password: %v", err)
	}
	if u, _ := s.UserByEmail(t.Context(), "ann@example.org"); !u.EmailVerified {
		t.Error("whoever got the mail owns the address")
	}
}

// TestResetsInParallel checks that one reset token used by twelve concurrent requests sets only one password.
func TestResetsInParallel(t *testing.T) {
	tried := 0
	defer coretest.Held(t, 18, &tried, "uses of a reset token at once")
	p, _ := testProvider(t, nil)
	addUser(t, p, "ann@example.org")
	if err := p.Forgot(t.Context(), "ann@example.org", core.MailStyle{}, t0); err != nil {
		t.Fatal(err)
	}
	_, token := mails(t, p, "ann@example.org")
	errs := make([]error, 12)
	var wg sync.WaitGroup
	for i := range errs {
		tried++
		wg.Go(func() {
			errs[i] = p.ResetPassword(t.Context(), "ann@example.org", token, fmt.Sprint("a new password ", i),
				"new_password",
				t0)
		})
	}
	wg.Wait()
	won := 0
	for i, err := range errs {
		_, loginErr := p.PasswordGrant(t.Context(), login("ann@example.org", fmt.Sprint("a new password ", i), ""),
			t0.Add(time.Duration(i)*15*time.Minute))
		if err == nil {
			won++
		}
		if (err == nil) != (loginErr == nil) || err != nil && !errors.Is(err, core.ErrInvalidToken) {
			t.Errorf("use %d: %v; the password: %v", i, err, loginErr)
		}
	}
	if won != 1 {
		t.Errorf("%d of 12 had an effect", won)
	}
}

// TestGuessesInParallel checks that only ten guesses at an account are accepted in 15 minutes, even if many arrive at
// the same time.
func TestGuessesInParallel(t *testing.T) {
	tried := 0
	defer coretest.Held(t, 22, &tried, "guesses, 120 at a time at one address, 10 of them checked")
	p, _ := testProvider(t, nil)
	addUser(t, p, "ann@example.org")
	for _, email := range []string{"ann@example.org", "nobody@example.org"} {
		var wg sync.WaitGroup
		results := make(chan error, 120)
		for i := range cap(results) {
			tried++
			wg.Go(func() {
				req := login(email, "wrong password", "")
				req.Remote = netip.AddrFrom4([4]byte{198, 51, 100, byte(i)})
				_, err := p.PasswordGrant(t.Context(), req, t0)
				results <- err
			})
		}
		wg.Wait()
		close(results)
		count := map[core.Kind]int{}
		for err := range results {
			count[core.KindOf(err)]++
		}
		if count[core.Invalid] != 10 || count[core.TooMany] != 110 {
			t.Errorf("%s: %v", email, count)
		}
	}
	_, err := p.PasswordGrant(t.Context(), login("ann@example.org", goodPassword, ""), t0)
	var e *core.Error
	if !errors.As(err, &e) || e.Kind != core.TooMany || e.RetryAfter < 899 || e.RetryAfter > 901 {
		t.Errorf("the right password of a blocked account: %#v", err)
	}
	if _, err := p.PasswordGrant(t.Context(), login("ann@example.org", goodPassword, ""),
		t0.Add(15*time.Minute)); err != nil {
		t.Errorf("15 minutes later: %v", err)
	}
}

// TestKnownAddressIsNotLockedOut checks that guesses of others can't lock the owner out: a remote address that has
// signed in before has its own counter.
func TestKnownAddressIsNotLockedOut(t *testing.T) {
	tried := 0
	defer coretest.Held(t, 22, &tried, "guesses before the user signs in from where it is known")
	p, _ := testProvider(t, nil)
	addUser(t, p, "ann@example.org")
	mustLogin(t, p, "ann@example.org", "", t0)
	for range 12 {
		tried++
		req := login("ann@example.org", "wrong password", "")
		req.Remote = netip.MustParseAddr("198.51.100.1")
		_, _ = p.PasswordGrant(t.Context(), req, t0)
	}
	mustLogin(t, p, "ann@example.org", "", t0)
	if _, err := p.PasswordGrant(t.Context(), login("ann@example.org", goodPassword, ""),
		t0.Add(91*24*time.Hour)); err != nil {
		t.Error(err)
	}
}

// TestOtherFailuresAreNotCounted checks that a login that fails for a reason other than the password doesn't count as a
// guess.
func TestOtherFailuresAreNotCounted(t *testing.T) {
	p, _ := testProvider(t, nil)
	addUser(t, p, "ann@example.org")
	for range 20 {
		if _, err := p.PasswordGrant(t.Context(), login("ann@example.org", goodPassword, "admin"),
			t0); !errors.Is(err, ErrInvalidScope) {
			t.Fatal(err)
		}
	}
	for range 20 {
		mustLogin(t, p, "ann@example.org", "email", t0)
	}
}

func TestLoginLimiter(t *testing.T) {
	var l loginLimiter
	key := remoteKey(remote)
	for i := range failuresMost {
		if _, ok := l.enter(key, t0); !ok {
			t.Fatalf("blocked at %d", i)
		}
	}
	if until, ok := l.enter(key, t0.Add(time.Minute)); ok || until != t0.Add(failuresPeriod) {
		t.Errorf("%v %v", until, ok)
	}
	if _, ok := l.enter("other", t0); !ok {
		t.Error("another address is blocked")
	}
	if _, ok := l.enter(key, t0.Add(failuresPeriod)); !ok {
		t.Error("blocked after the period")
	}
	for i := range 3 * maxLimited {
		l.enter(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}).String(), t0)
	}
	if len(l.rows) > maxLimited {
		t.Errorf("%d rows", len(l.rows))
	}
}

func TestRemoteKey(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7", "127.0.0.1": "", "::1": "",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := remoteKey(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
	if remoteKey(netip.Addr{}) != "" {
		t.Error("no address has a key")
	}
}

// TestRehash checks that a hash of another cost is replaced at the next login.
func TestRehash(t *testing.T) {
	p, s := testProvider(t, nil)
	u := addUser(t, p, "ann@example.org")
	dear,
		err := New(t.Context(), s.Store, Config{Issuer: p.Issuer, PasswordCost: Argon2{Memory: 128, Passes: 1, Threads: 1}},
		t0)
	if err != nil {
		t.Fatal(err)
	}
	session := mustLogin(t, p, "ann@example.org", "", t0)
	mustLogin(t, dear, "ann@example.org", "", t0)
	try, err := s.TryLogin(t.Context(), u.Email, "", nil, t0)
	if err != nil || !strings.Contains(try.PasswordHash, "m=128") {
		t.Errorf("%s, %v", try.PasswordHash, err)
	}
	if _, err := p.Bearer(t.Context(), session.AccessToken, t0); err != nil {
		t.Errorf("a rehash ended sessions: %v", err)
	}
}

func TestBasicAuth(t *testing.T) {
	for header, want := range map[string][]string{
		"Basic YTpi": {"a", "b"}, "basic YTpi": {"a", "b"}, "Basic YSUzQWI6YyUyMGQr": {"a:b", "c d "},
		"Basic YTo=": {"a", ""}, "Basic OmI=": nil, "Basic YQ==": nil, "Basic !": nil, "Bearer YTpi": nil, "": nil,
		"Basic JToj": nil,
	} {
		u, s, ok := basicAuth(header)
		if ok != (want != nil) || (ok && !slices.Equal(want, []string{u, s})) {
			t.Errorf("%q: %q %q %v", header, u, s, ok)
		}
	}
}

func FuzzBasicAuth(f *testing.F) {
	f.Add("Basic YTpi")
	f.Fuzz(func(t *testing.T, header string) {
		if u, _, ok := basicAuth(header); ok && u == "" {
			t.Errorf("%q: no name", header)
		}
	})
}

// TestStaleSignIn checks that a sign-in fails if the password was changed after it was checked.
func TestStaleSignIn(t *testing.T) {
	p, s := testProvider(t, nil)
	u := addUser(t, p, "ann@example.org")
	try, _, err := p.CheckPassword(t.Context(), "ann@example.org", goodPassword, remote, "", t0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetPassword(t.Context(), u.ID, "x", t0); err != nil {
		t.Fatal(err)
	}
	f := core.Family{
		ID: core.NewID(), Kind: core.FamilyPassword, UserID: u.ID, ClientID: core.BuiltInClientID,
		Epoch: try.User.Epoch, CreatedAt: t0, ExpiresAt: t0.Add(time.Hour),
	}
	in := identity.SignIn{Family: f, RefreshHash: []byte("x"), RefreshExpires: t0.Add(time.Hour), Key: try.Key}
	if err := s.AddSignIn(t.Context(), in, t0); !errors.Is(err, identity.ErrSignInStale) {
		t.Errorf("sign-in: %v", err)
	}
	stale, _, err := p.AdminToken(t.Context(), try.User, "", time.Hour, t0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Bearer(t.Context(), stale.AccessToken, t0); !errors.Is(err, ErrBadToken) {
		t.Errorf("a token of an older epoch: %v", err)
	}
}

// TestMailedTokenAfterAddressChanged checks that a token emailed to an address proves nothing about the user's new
// address.
func TestMailedTokenAfterAddressChanged(t *testing.T) {
	p, s := testProvider(t, nil)
	u, err := p.Register(t.Context(), "ann@example.org", goodPassword, core.MailStyle{}, netip.Addr{}, t0)
	if err != nil {
		t.Fatal(err)
	}
	_, token := mails(t, p, "ann@example.org")
	if _, err := s.UpdateUser(t.Context(), u.ID, identity.UserInput{Email: new(core.Email("eve@example.org"))},
		t0); err != nil {
		t.Fatal(err)
	}
	for _, email := range []core.Email{"ann@example.org", "eve@example.org"} {
		if _, err := p.VerifyEmail(t.Context(), email, token, t0); !errors.Is(err, core.ErrInvalidToken) {
			t.Errorf("%s: %v", email, err)
		}
	}
}
