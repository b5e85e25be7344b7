package main

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"golang.org/x/oauth2"

	"newsletterd/auth"
	"newsletterd/auth/authtest"
	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/oidctest"
	"newsletterd/core"
	"newsletterd/handlers/web/webtest"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// factorBrowser is a browser, and a daemon whose users sign in with a second factor.
type factorBrowser struct {
	*browsertest.Browser

	t      *testing.T
	d      *running
	listen string
	path   string // of the database
	key    string // of the authenticator app
	setBy  string // code that completed the setup
}

// serve starts or restarts the daemon with a value of [auth] second_factor.
func (b *factorBrowser) serve(mode string) {
	b.Helper()
	if b.d != nil {
		b.d.Must(b.d.quit())
	}
	b.d = start(b.t, func(c *config.Config) {
		_, port, _ := strings.Cut(b.listen, ":")
		c.Server.Listen, c.Server.PublicURL = b.listen, "http://localhost:"+port
		c.Database.Path, c.Auth.SecondFactor = b.path, mode
	})
}

// later makes all sign-ins, used codes and wrong codes a day older.
func (b *factorBrowser) later() {
	b.Helper()
	storetest.Foreign(b.t, b.path, `UPDATE browser SET auth_at = auth_at - 86400000;
		UPDATE family SET auth_at = auth_at - 86400000; UPDATE totp SET last_step = last_step - 2880;
		DELETE FROM throttle`)()
}

// password signs in with a password and waits for the next page.
func (b *factorBrowser) password(email, heading string) {
	b.Helper()
	b.ForgetCookies()
	b.Open(b.d.cfg.Origin()+"/login?continue=%2Faccount", chromedp.SendKeys("#email", email),
		chromedp.SendKeys("#password", daemontest.Password+"\r"), browsertest.Heading(heading))
}

// app returns the app's code after a number of periods from now.
func (b *factorBrowser) app(periods time.Duration) string {
	b.Helper()
	return authtest.TOTP(b.t, b.key, time.Now().Add(30*time.Second*periods))
}

// code enters a code and waits for the result.
func (b *factorBrowser) code(code string, then browsertest.Step) {
	b.Helper()
	b.Submit(chromedp.Clear("#code"), chromedp.SendKeys("#code", code+"\r"))
	b.Do(then)
}

// setUp reads the app's key from the page, enters a code, and returns the recovery codes.
func (b *factorBrowser) setUp() (recovery []string) {
	b.Helper()
	b.Do(chromedp.WaitVisible(".qr svg"))
	b.key = b.Text("main code")
	b.code(b.app(-3), browsertest.Fault("incorrect"))
	b.setBy = b.app(0)
	b.code(b.setBy, browsertest.Heading("Save your recovery codes"))
	recovery = regexp.MustCompile(`[a-z2-7]{4}(-[a-z2-7]{4}){3}`).FindAllString(b.Text("ul.codes"), -1)
	if len(recovery) != 10 {
		b.Fatal(recovery)
	}
	return recovery
}

// TestBrowserTwoStep sets up an authenticator app in a browser and signs in with it. Each code works once, and only in
// the current and the adjacent periods. Wrong codes are counted. Recovery codes work until they are used up.
func TestBrowserTwoStep(t *testing.T) {
	b := &factorBrowser{
		Browser: browsertest.New(t), t: t, listen: daemontest.FreeAddr(t),
		path: filepath.Join(t.TempDir(), "newsletterd.db"),
	}
	b.serve(auth.FactorOff)
	tenant := b.d.seed.NewTenant()
	ann := b.d.addUser("ann@example.org")
	account := browsertest.Heading("Your account")

	b.password("ann@example.org", "Your account")
	b.Click(`a[href="/account/two-step"]`, chromedp.WaitVisible("main form button"))
	b.Look("two-step-off")
	b.Click("main form button", chromedp.WaitVisible(".qr svg"))
	b.Look("two-step-app")
	recovery := b.setUp()
	b.Look("recovery")
	b.Click("main .button", account)
	b.Look("account-two-step")

	b.password("ann@example.org", "Enter your code")
	b.Look("code")
	b.Open(b.d.cfg.Origin()+"/account", browsertest.Heading("Sign in")) // the password alone isn't enough
	b.password("ann@example.org", "Enter your code")
	const wrong = "incorrect or was already used"
	b.code(b.setBy, browsertest.Fault(wrong))
	b.Look("code-fault")
	b.code(b.app(-2), browsertest.Fault(wrong))
	b.code(b.app(3), browsertest.Fault(wrong)) // two periods ahead when the next one has started
	used := b.app(1)
	b.code(used, account)
	b.password("ann@example.org", "Enter your code")
	b.code(used, browsertest.Fault(wrong))
	b.code(b.app(0), browsertest.Fault(wrong)) // used before
	b.later()
	b.code(b.app(0), account)

	// After ten wrong codes, nine of them elsewhere, the right one isn't checked.
	b.password("ann@example.org", "Enter your code")
	for range 9 {
		_, err := b.d.store.TryFactor(t.Context(), ann.ID, now())
		b.d.Must(err)
	}
	b.code("000000", browsertest.Fault(wrong))
	b.code(b.app(1), browsertest.Fault("Too many wrong codes"))
	b.Look("code-throttled")
	b.later()
	b.code(b.app(1), account)

	b.recoveryCodes(ann.ID, recovery)
	b.keptForms()
	b.modes(tenant.ID)
	b.stepUp(tenant.ID)
}

// recoveryCodes uses up all codes and checks what the pages say.
func (b *factorBrowser) recoveryCodes(userID string, codes []string) {
	b.Helper()
	account := browsertest.Heading("Your account")
	twoStep := b.d.cfg.Origin() + "/account/two-step"
	left := func(text string) { b.Open(twoStep, chromedp.WaitVisible(`//p[contains(., "`+text+`")]`)) }
	b.password("ann@example.org", "Enter your code")
	b.code(" "+strings.ToUpper(strings.ReplaceAll(codes[0], "-", " ")), account)
	left("Recovery codes left: 9")
	for _, code := range codes[1:9] { // in another browser
		b.d.Must(b.d.auth.CheckCode(b.t.Context(), userID, code, now()))
	}
	b.password("ann@example.org", "Enter your code")
	b.code(codes[9], account)
	left("no recovery codes left")
	b.Look("two-step-used-up")
	b.password("ann@example.org", "Enter your code")
	b.code(codes[9], browsertest.Fault("incorrect or was already used"))
	b.later()
	b.code(b.app(0), account)
}

// keptForms sends forms that need a fresh sign-in, and checks that they continue after it.
func (b *factorBrowser) keptForms() {
	b.Helper()
	twoStep := b.d.cfg.Origin() + "/account/two-step"
	for _, scripts := range []bool{true, false} {
		b.Open(twoStep, browsertest.Heading("Two-factor authentication"))
		b.later()
		b.Do(browsertest.Scripts(scripts))
		b.Click(`form:has([value="codes"]) button`, browsertest.Heading("Confirm it"))
		if scripts {
			b.Look("prove")
		}
		b.Do(chromedp.SendKeys("#password", "wrong"))
		b.code(b.app(0), browsertest.Fault("password is incorrect"))
		b.Do(chromedp.SendKeys("#password", daemontest.Password))
		b.code("000000", browsertest.Fault("code is incorrect"))
		if scripts {
			b.Look("prove-fault")
		}
		b.Do(chromedp.SendKeys("#password", daemontest.Password))
		if scripts {
			b.Do(chromedp.SendKeys("#code", b.app(0)+"\r"), browsertest.Heading("Save your recovery codes"))
		} else {
			b.code(b.app(1), browsertest.Heading("One moment"))
			b.Click("main form button", browsertest.Heading("Save your recovery codes"))
			b.Do(browsertest.Scripts(true))
		}
	}

	// The same works with a passkey.
	phone := b.NewAuthenticator()
	passkeys := b.d.cfg.Origin() + "/account/passkeys"
	b.Open(passkeys, chromedp.WaitVisible("form[data-passkey]"), chromedp.Click("form[data-passkey] button"),
		browsertest.Notice("added"))
	b.Click("summary", chromedp.WaitVisible("details input[name=name]"))
	b.later()
	b.Do(chromedp.Clear("details input[name=name]"), chromedp.SendKeys("details input[name=name]", "Ann's phone\r"),
		browsertest.Heading("Confirm it"))
	b.Look("prove-passkey")
	b.Click("form[data-passkey] button", browsertest.Notice("renamed"))
	if name := b.Text("ul.rows li > span"); !strings.HasPrefix(name, "Ann's phone") {
		b.Error(name)
	}

	// If another window removes the passkey meanwhile, the page says so and asks for a remaining factor.
	b.later()
	b.Open(passkeys, chromedp.WaitVisible("form[data-passkey]"))
	storetest.Foreign(b.t, b.path, "DELETE FROM passkey")()
	b.Click("form[data-passkey] button", browsertest.Fault("been removed"))
	b.Look("prove-passkey-gone")
	phone.Unplug()
	b.Do(chromedp.SendKeys("#password", daemontest.Password))
	b.code(b.app(0), chromedp.WaitVisible("form[data-passkey]"))
}

// modes signs in under each value of second_factor: a person who doesn't need a factor, and one who does.
func (b *factorBrowser) modes(tenant string) {
	b.Helper()
	for email, role := range map[core.Email]core.Role{
		"op@example.org":  {Role: core.RoleOperator},
		"tia@example.org": {Role: core.RoleEditor, TenantID: tenant},
		"bob@example.org": {},
	} {
		u := b.d.addUser(email)
		if role.Role != "" {
			b.d.Must(b.d.store.GrantRole(b.t.Context(), u.ID, role, false, now()))
		}
	}
	for _, m := range []struct{ mode, free, demanded string }{
		{auth.FactorOff, "op@example.org", ""},
		{auth.FactorOperators, "tia@example.org", "op@example.org"},
		{auth.FactorStaff, "bob@example.org", "tia@example.org"},
		{auth.FactorAll, "", "bob@example.org"},
	} {
		if m.mode != auth.FactorOff {
			b.serve(m.mode)
		}
		if m.free != "" {
			b.password(m.free, "Your account")
		}
		if m.demanded != "" {
			b.password(m.demanded, "Two-factor authentication")
			b.Open(b.d.cfg.Origin()+"/account", browsertest.Heading("Sign in")) // nothing is accessible before
		}
	}
	b.password("op@example.org", "Two-factor authentication")
	b.Look("two-step-demanded")
	b.setUp()
	b.Click("main .button", browsertest.Heading("Your account"))
	b.later()
	b.password("op@example.org", "Enter your code")
	b.code(b.app(0), browsertest.Heading("Your account"))
}

// stepUp lets a site of the operator export, resume and send a campaign with tokens. Tokens of an old sign-in are
// refused, with a hint at the remedy.
func (b *factorBrowser) stepUp(tenant string) {
	b.Helper()
	list := b.d.seed.NewList(func(in *core.ListInput) { in.TenantID = &tenant })
	job := b.d.seed.NewJob(list.ID, func(r *campaigns.JobRequest) { r.ScheduledAt = now().Add(time.Hour) })
	campaign := b.d.seed.NewCampaign(list)
	rp := oidctest.New(b.t, b.d.seed, b.d.cfg.Origin(), func(in *core.ClientInput) {
		in.TenantID, in.Scopes = &tenant, &[]string{"openid", core.ScopeAdmin, core.ScopeSend}
	})
	rp.Config.Scopes = []string{"openid", core.ScopeAdmin, core.ScopeSend}
	verifier := oauth2.GenerateVerifier()
	token := func() *webtest.Client {
		b.Helper()
		b.Do(browsertest.Heading("Relying party /cb"))
		tokens, err := rp.Config.Exchange(context.Background(), rp.Back().Get("code"), oauth2.VerifierOption(verifier))
		b.d.Must(err)
		return b.d.As(tokens.AccessToken)
	}
	pause := func() {
		_, err := b.d.store.PauseSendJobBy(b.t.Context(), job.ID, "test", now())
		b.d.Must(err)
	}
	try := func(c *webtest.Client, fresh bool) {
		b.Helper()
		for _, r := range []struct {
			webtest.Reply
			status int
		}{
			{c.Get("/api/admin/subscribers/export?list_id=" + list.ID), 200},
			{c.Send("POST", "/api/send-jobs/"+job.ID+"/resume", nil), 200},
			{c.Send("POST", "/api/campaigns/"+campaign.ID+"/send", map[string]any{
				"testing": true, "version": 1, "scheduled_at": now().Add(time.Hour),
			}), 201},
		} {
			if !fresh {
				r.status = 401
			}
			r.Wants(r.status)
			challenge := r.Header.Get("WWW-Authenticate")
			if asks := strings.Contains(challenge, `error="insufficient_user_authentication"`) &&
				strings.Contains(challenge, `max_age="900"`); asks == fresh {
				b.Error(r.Request.URL, challenge)
			}
		}
		if fresh {
			campaign = b.d.seed.NewCampaign(list)
		}
	}
	b.Open(rp.Config.AuthCodeURL("s", oauth2.S256ChallengeOption(verifier)), browsertest.Heading("Allow access?"))
	b.Click(`button[value="allow"]`)
	pause()
	try(token(), true)
	pause()
	b.later()
	b.Open(rp.Config.AuthCodeURL("s", oauth2.S256ChallengeOption(verifier)))
	try(token(), false)
	b.Open(rp.Config.AuthCodeURL("s", oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("max_age", "900")),
		browsertest.Heading("Sign in"), chromedp.SendKeys("#email", "op@example.org"),
		chromedp.SendKeys("#password", daemontest.Password+"\r"), browsertest.Heading("Enter your code"))
	b.Do(chromedp.SendKeys("#code", b.app(0)+"\r"))
	try(token(), true)
}
