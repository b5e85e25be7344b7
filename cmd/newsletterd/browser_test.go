package main

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"golang.org/x/oauth2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
)

// newBrowser starts a real browser, or skips the test where there is none, or where it isn't `make pages` that asks: a
// browser takes as long as many other tests. hosts are names that lead to this machine.
func newBrowser(t *testing.T, hosts ...string) context.Context {
	t.Helper()
	if os.Getenv("NEWSLETTERD_BROWSER") == "" {
		t.Skip("make pages tries the pages in a browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("SKIPPED: no browser on this machine (Debian: apt-get install chromium), so the pages are not tried in one")
	}
	var rules []string
	for _, host := range hosts {
		rules = append(rules, "MAP "+host+" 127.0.0.1")
	}
	ctx, cancel := chromedp.NewContext(t.Context(), chromedp.WithAllocatorOptions(
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("headless", "new"),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("host-resolver-rules", strings.Join(rules, ","))))
	t.Cleanup(cancel)
	ctx, stop := context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(stop)
	return ctx
}

// shots takes pictures of a page, light and dark, on a telephone and on a desk, where SCREENSHOTS names a folder, and
// lets the checker of accessibility look at it.
func shots(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	defer accessible(t, ctx, name)
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{360, 1280} {
			do(t, ctx, emulateScheme(scheme), chromedp.EmulateViewport(width, 800))
			png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, name+"-"+scheme+"-"+map[int64]string{360: "360", 1280: "1280"}[width]+".png")
			if err := os.WriteFile(file, png, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func emulateScheme(scheme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
}

func do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		where, _ := chromedp.Run(ctx, chromedp.Location())
		text, _ := chromedp.Run(ctx, chromedp.Text("body"))
		t.Fatalf("%v, at %s:\n%s", err, where, text)
	}
}

// heading waits for a page by its heading.
func heading(text string) chromedp.Action[chromedp.Void] {
	return chromedp.WaitVisible(`//h1[contains(., "` + text + `")]`)
}

// A person with a browser signs in, agrees, comes back with a code, looks at the own page, and signs out.
func TestBrowser(t *testing.T) {
	ctx := newBrowser(t)
	d := start(t, nil)
	d.addUser("ann@example.org")
	tenant, err := core.NewTenant(core.TenantInput{
		Name: new("Acme"), BrandName: new("Acme Letters"),
		BrandColor: new("#b4236a"),
	}, now())
	if err == nil {
		err = d.store.AddTenant(t.Context(), tenant, "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	rp := newRelyingParty(t, d, func(in *core.ClientInput) { in.TenantID = &tenant.ID })
	verifier := oauth2.GenerateVerifier()

	do(t, ctx, chromedp.Navigate(rp.config.AuthCodeURL("s1", oauth2.S256ChallengeOption(verifier))), heading("Sign in"))
	shots(t, ctx, "login")
	do(t, ctx, chromedp.SendKeys("#email", "ann@example.org"), chromedp.SendKeys("#password", "wrong\r"),
		chromedp.WaitVisible("#fault"))
	shots(t, ctx, "login-fault")
	do(t, ctx, chromedp.SendKeys("#password", daemontest.Password+"\r"), heading("Allow access?"))
	shots(t, ctx, "consent")
	do(t, ctx, chromedp.Click(`button[value="allow"]`), heading("Relying party /cb"))
	q := rp.back(t)
	if q.Get("state") != "s1" {
		t.Fatalf("came back with %v", q)
	}
	tokens, err := rp.config.Exchange(context.Background(), q.Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}

	// The answer as a form: the browser sends it by itself.
	do(t, ctx, chromedp.Navigate(rp.config.AuthCodeURL("s2", oauth2.S256ChallengeOption(verifier),
		oauth2.SetAuthURLParam("response_mode", "form_post"))),
		heading("Relying party /cb"))
	if q := rp.back(t); q.Get("state") != "s2" || q.Get("code") == "" {
		t.Errorf("form_post: %v", q)
	}

	do(t, ctx, chromedp.Navigate(d.cfg.Origin()+"/account"), heading("Your account"))
	shots(t, ctx, "account")
	do(t, ctx, chromedp.Clear("#name"), chromedp.SendKeys("#name", "Ann B.\r"), chromedp.WaitVisible(".notice"))
	shots(t, ctx, "account-notice")

	// The account gets another address and, by the mail to that, the first one again.
	const last = `//h1[contains(., "Your account")]`
	for _, email := range []string{"anna@example.org", "ann@example.org"} {
		do(t, ctx, chromedp.Navigate(d.cfg.Origin()+"/account"), chromedp.WaitVisible(last),
			chromedp.SendKeys("#email", email), chromedp.SendKeys("#email_password", "wrong\r"), chromedp.WaitVisible("#fault"))
		shots(t, ctx, "change-fault")
		do(t, ctx, chromedp.SendKeys("#email_password", daemontest.Password+"\r"), chromedp.WaitVisible(".notice"))
		shots(t, ctx, "change-asked")
		do(t, ctx, chromedp.Navigate(d.mailed("/verify?", email)), heading("Your new address"))
		shots(t, ctx, "change")
		do(t, ctx, chromedp.Click("form[action='/verify'] button"), heading("Your address is changed"))
	}

	id, _ := tokens.Extra("id_token").(string)
	logout := d.cfg.Origin() + "/api/oauth/logout?" +
		url.Values{"client_id": {rp.config.ClientID}, "post_logout_redirect_uri": {rp.URL + "/bye"}}.Encode()
	do(t, ctx, chromedp.Navigate(logout), heading("Sign out?"))
	shots(t, ctx, "logout")
	do(t, ctx, chromedp.Click("form[action='/logout'] button"), heading("Relying party /bye"))
	do(t, ctx, chromedp.Navigate(logout+"&id_token_hint="+id), heading("Relying party /bye"))
	do(t, ctx, chromedp.Navigate(d.cfg.Origin()+"/account"), heading("Sign in"))

	for name, page := range map[string][2]string{
		"forgot": {"/password/forgot", "Forgot your password?"},
		"broken": {"/password/reset?token=x&email=ann@example.org", "This link is not good any more"},
		"verify": {"/verify?token=x&email=ann@example.org", "This link is not good any more"},
		"authorize": {
			"/api/oauth/authorize?client_id=" + rp.config.ClientID + "&redirect_uri=https://evil.example/",
			"This login can't go on",
		},
		"signed-out": {"/logout", "You are signed out"},
	} {
		do(t, ctx, chromedp.Navigate(d.cfg.Origin()+page[0]), heading(page[1]))
		shots(t, ctx, name)
	}

	// The link of a mail sets a new password.
	do(t, ctx, chromedp.Navigate(d.cfg.Origin()+"/password/forgot"), chromedp.SendKeys("#email", "ann@example.org\r"),
		heading("Look into your mail"))
	shots(t, ctx, "look-into-mail")
	do(t, ctx, chromedp.Navigate(d.mailed("/password/reset?", "ann@example.org")), heading("New password"))
	shots(t, ctx, "reset")
	do(t, ctx, chromedp.SendKeys("#new_password", "battery horse correct\r"), heading("Your password is set"))
	shots(t, ctx, "password-set")
}

// Forms work, too, where the browser doesn't say by Sec-Fetch-Site whose they are: it does so to hosts that it trusts
// (https and loopback) alone, and older ones never do.
func TestBrowserOverPlainHTTP(t *testing.T) {
	ctx := newBrowser(t, "news.example.org")
	d := start(t, func(c *config.Config) {
		c.Server.Listen = daemontest.FreeAddr(t)
		_, port, _ := strings.Cut(c.Server.Listen, ":")
		c.Server.PublicURL = "http://news.example.org:" + port
	})
	d.addUser("ann@example.org")
	do(t, ctx, chromedp.Navigate(d.cfg.Origin()+"/login"), heading("Sign in"),
		chromedp.SendKeys("#email", "ann@example.org"), chromedp.SendKeys("#password", daemontest.Password+
			"\r"), heading("Your account"))
}
