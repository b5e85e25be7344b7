package auth

import (
	"context"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

// faulty lists operations. Each is prepared on a working store, and the returned function then runs on a store that
// fails.
var faulty = map[string]func(ctx context.Context, f *flow) func() error{
	"password grant": func(ctx context.Context, f *flow) func() error {
		return func() error {
			_, err := f.p.PasswordGrant(ctx, login("ann@example.org", goodPassword, "openid email"), t0)
			return err
		}
	},
	"sign-in": func(ctx context.Context, f *flow) func() error {
		return func() error {
			_, _, err := f.p.SignIn(ctx, SignInRequest{Email: "ann@example.org", Password: goodPassword, Remote: remote}, t0)
			return err
		}
	},
	"authorization": func(ctx context.Context, f *flow) func() error {
		return func() error {
			_, err := f.p.Authorize(ctx, AuthorizeRequest{Query: f.query(""), BrowserID: f.browser.ID, AgreedBy: f.user.ID}, t0)
			return err
		}
	},
	"authorization with a hint": func(ctx context.Context, f *flow) func() error {
		hint := f.tokens(t0).IDToken
		return func() error {
			_, err := f.p.Authorize(ctx, AuthorizeRequest{
				Query:     f.query("prompt=none&id_token_hint=" + hint),
				BrowserID: f.browser.ID, AgreedBy: f.user.ID,
			}, t0)
			return err
		}
	},
	"code": func(_ context.Context, f *flow) func() error {
		code := f.code("", t0)
		return func() error { _, err := f.redeem(code, t0); return err }
	},
	"refresh": func(ctx context.Context, f *flow) func() error {
		token := f.tokens(t0).RefreshToken
		return func() error {
			_, err := f.p.RefreshGrant(ctx, GrantRequest{Client: f.creds, RefreshToken: token}, t0)
			return err
		}
	},
	"client credentials": func(ctx context.Context, f *flow) func() error {
		return func() error {
			_, err := f.p.ClientGrant(ctx, GrantRequest{Client: f.creds, Scope: "newsletter:list.read"}, t0)
			return err
		}
	},
	"bearer": func(_ context.Context, f *flow) func() error {
		token := f.tokens(t0).AccessToken
		return func() error { return f.bearer(token, t0.Add(2*time.Minute)) }
	},
	"introspection": func(ctx context.Context, f *flow) func() error {
		tokens := f.tokens(t0)
		return func() error {
			_, err := f.p.Introspect(ctx, f.creds, tokens.AccessToken, t0)
			if err == nil {
				_, err = f.p.Introspect(ctx, f.creds, tokens.RefreshToken, t0)
			}
			return err
		}
	},
	"revocation": func(ctx context.Context, f *flow) func() error {
		tokens := f.tokens(t0)
		return func() error { return f.p.Revoke(ctx, f.creds, tokens.RefreshToken, t0) }
	},
	"user info": func(ctx context.Context, f *flow) func() error {
		caller, err := f.p.Bearer(ctx, f.tokens(t0).AccessToken, t0)
		return func() error {
			if err == nil {
				_, err = f.p.UserInfo(ctx, caller)
			}
			again := err
			err = nil
			return again
		}
	},
	"logout": func(ctx context.Context, f *flow) func() error {
		token := f.tokens(t0).RefreshToken
		return func() error { return f.p.Logout(ctx, core.Caller{UserID: f.user.ID}, token, t0) }
	},
	"logout of the browser": func(ctx context.Context, f *flow) func() error {
		hint := f.tokens(t0).IDToken
		return func() error {
			_, err := f.p.RPLogout(ctx, LogoutRequest{Query: url.Values{"id_token_hint": {hint}}, BrowserID: f.browser.ID}, t0)
			return err
		}
	},
	"key set": func(ctx context.Context, f *flow) func() error {
		return func() error { _, err := f.p.KeySet(ctx, t0.Add(2*time.Minute)); return err }
	},
	"rotation": func(ctx context.Context, f *flow) func() error {
		return func() error { _, err := RotateKeys(ctx, f.s.Store, t0); return err }
	},
	"tending of keys": func(ctx context.Context, f *flow) func() error {
		return func() error { _, err := f.p.TendKeys(ctx, 24*time.Hour, t0.Add(90*24*time.Hour)); return err }
	},
	"registration": func(ctx context.Context, f *flow) func() error {
		return func() error {
			_, err := f.p.Register(ctx, "new@example.org", goodPassword, core.MailStyle{}, netip.Addr{}, t0)
			return err
		}
	},
	"verification": func(ctx context.Context, f *flow) func() error {
		if _, err := f.p.Register(ctx, "new@example.org", goodPassword, core.MailStyle{}, netip.Addr{}, t0); err != nil {
			f.t.Fatal(err)
		}
		_, token := mails(f.t, f.p, "new@example.org")
		return func() error { _, err := f.p.VerifyEmail(ctx, "new@example.org", token, t0); return err }
	},
	"another verification": func(ctx context.Context, f *flow) func() error {
		return func() error { return f.p.VerifyAgain(ctx, f.user, "", t0) }
	},
	"forgotten password": func(ctx context.Context, f *flow) func() error {
		return func() error { return f.p.Forgot(ctx, "ann@example.org", core.MailStyle{}, t0) }
	},
	"reset": func(ctx context.Context, f *flow) func() error {
		if err := f.p.Forgot(ctx, "ann@example.org", core.MailStyle{}, t0); err != nil {
			f.t.Fatal(err)
		}
		_, token := mails(f.t, f.p, "ann@example.org")
		return func() error {
			return f.p.ResetPassword(ctx, "ann@example.org", token, "a new password", "new_password", t0)
		}
	},
	"change of the password": func(ctx context.Context, f *flow) func() error {
		v, err := f.s.Visitor(f.t.Context(), f.browser.ID, "", t0)
		f.s.Must(err)
		return func() error { return f.p.ChangePassword(ctx, v, goodPassword, "another good one", remote, "", t0) }
	},
	"change of the address": func(ctx context.Context, f *flow) func() error {
		v, err := f.s.Visitor(f.t.Context(), f.browser.ID, "", t0)
		f.s.Must(err)
		return func() error {
			return f.p.AskEmailChange(ctx, v, EmailChangeRequest{
				Email: "ann@example.net", Password: goodPassword,
				Remote: remote,
			}, t0)
		}
	},
	"token for a script": func(ctx context.Context, f *flow) func() error {
		return func() error { _, _, err := f.p.AdminToken(ctx, f.user, "openid", time.Hour, t0); return err }
	},
	"token of our own": func(ctx context.Context, f *flow) func() error {
		return func() error { _, err := f.p.OwnToken(ctx, "", "newsletter:events.write", t0); return err }
	},
	"origin": func(ctx context.Context, f *flow) func() error {
		return func() error { _, err := f.p.AllowsOrigin(ctx, "https://rp.example"); return err }
	},
	"start": func(ctx context.Context, f *flow) func() error {
		return func() error {
			_, err := New(ctx, f.s.Store, Config{Issuer: f.p.Issuer, PasswordCost: cheapCost, CommonPasswords: "allow"},
				t0)
			return err
		}
	},
}

// TestStatementsThatFail makes each statement of each operation fail once, as on a full disk. The error must say that
// the storage is unavailable, never that a token is invalid, and the operation must not report success. Nothing may be
// used up: the next try succeeds.
func TestStatementsThatFail(t *testing.T) {
	tried := 0
	defer coretest.Held(t, 12, &tried, "statements of sign-in, each failing once as on a full disk")
	dir, faults := t.TempDir(), storetest.NewFaults(t)
	master := newFlow(t, storetest.OpenAt(t, dir+"/master.db"),
		func(c *core.ClientInput) { c.Scopes = &[]string{"openid", "email", "newsletter:list.read"} })
	master.s.Must(master.s.Backup(t.Context(), dir+"/copy.db"))
	file, err := os.ReadFile(dir + "/copy.db")
	master.s.Must(err)
	for name, prepare := range faulty {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				f := *master // on a copy of the database
				path := filepath.Join(t.TempDir(), "a.db")
				f.s.Must(os.WriteFile(path, file, 0o600))
				f.t = t
				f.p, f.s = testProvider(t, storetest.OpenWith(t, db.Options{Path: path, Driver: faults.Driver}))
				run := prepare(t.Context(), &f)
				faults.FailAt(n)
				err := run()
				if calls := faults.FailAt(0); calls < n {
					if err != nil {
						t.Errorf("without a fault: %v", err)
					}
					return
				}
				tried++
				if err == nil || core.KindOf(err) != core.Unavailable {
					t.Errorf("statement %d fails: %v", n, err)
				} else if err := run(); err != nil {
					t.Errorf("after statement %d failed: %v", n, err)
				}
			}
		})
	}
}
