package auth

import (
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
)

// TestClockJumps checks that a used token stays used, whatever the clock shows later, and that lifetimes are judged by
// the current clock.
func TestClockJumps(t *testing.T) {
	const loginWindow = 15 * time.Minute
	tried := 0
	defer coretest.Held(t, 16, &tried, "uses of spent codes, tokens and guesses after jumps of the clock")
	for _, jump := range []time.Duration{
		time.Minute, -time.Minute, time.Hour, -time.Hour, 24 * time.Hour,
		-24 * time.Hour,
	} {
		f := newFlow(t, nil)
		addUser(t, f.p, "ann.two@example.org")
		at := t0.Add(jump)
		code := f.code("", t0)
		if _, err := f.redeem(code, t0); err != nil {
			t.Fatal(err)
		}
		if err := f.p.Forgot(t.Context(), "ann@example.org", core.MailStyle{}, t0); err != nil {
			t.Fatal(err)
		}
		_, reset := mails(t, f.p, "ann@example.org")
		if err := f.p.ResetPassword(t.Context(), "ann@example.org", reset, "a new password", "", t0); err != nil {
			t.Fatal(err)
		}
		first := mustLogin(t, f.p, "ann.two@example.org", "", t0)
		second, err := f.p.RefreshGrant(t.Context(), GrantRequest{RefreshToken: first.RefreshToken}, t0)
		if err == nil {
			_, err = f.p.RefreshGrant(t.Context(), GrantRequest{RefreshToken: second.RefreshToken}, t0)
		}
		if err != nil {
			t.Fatal(err)
		}
		for what, use := range map[string]func() error{
			"code": func() error { _, err := f.redeem(code, at); return err },
			"reset": func() error {
				return f.p.ResetPassword(t.Context(), "ann@example.org", reset, "another password", "", at)
			},
			"refresh token": func() error {
				_, err := f.p.RefreshGrant(t.Context(), GrantRequest{RefreshToken: first.RefreshToken}, at)
				return err
			},
		} {
			if tried++; use() == nil {
				t.Errorf("%s used again at %v", what, jump)
			}
		}
		for range 11 {
			_, _ = f.p.PasswordGrant(t.Context(), login("ann@example.org", "a guess", ""), t0)
		}
		after := func(d time.Duration) error {
			tried++
			_, err := f.p.PasswordGrant(t.Context(), login("ann@example.org", "a new password", ""), at.Add(d))
			return err
		}
		if err := after(0); (err == nil) != (jump > loginWindow) {
			t.Errorf("after 10 guesses, at %v: %v", jump, err)
		}
		if err := after(loginWindow); err != nil {
			t.Errorf("15 minutes later, at %v: %v", jump, err)
		}
	}
}
