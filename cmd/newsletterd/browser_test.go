package main

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"golang.org/x/oauth2"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/oidctest"
	"newsletterd/core"
)

// TestBrowser signs a person in, gives consent, returns with a code, opens the account page, and signs out.
func TestBrowser(t *testing.T) {
	b := browsertest.New(t)
	d := start(t, nil)
	d.addUser("ann@example.org")
	tenant := d.seed.NewTenant(func(in *core.TenantInput) {
		in.BrandName, in.BrandColor = new("Acme Letters"), new("#b4236a")
	})
	rp := oidctest.New(t, d.seed, d.URL, func(in *core.ClientInput) { in.TenantID = &tenant.ID })
	verifier := oauth2.GenerateVerifier()

	b.Open(rp.Config.AuthCodeURL("s1", oauth2.S256ChallengeOption(verifier)), browsertest.Heading("Sign in"))
	b.Look("login")
	b.Do(chromedp.SendKeys("#email", "ann@example.org"), chromedp.SendKeys("#password", "wrong\r"),
		chromedp.WaitVisible("#fault"))
	b.Look("login-fault")
	b.Do(chromedp.SendKeys("#password", daemontest.Password+"\r"), browsertest.Heading("Allow access?"))
	b.Look("consent")
	b.Click(`button[value="allow"]`, browsertest.Heading("Relying party /cb"))
	q := rp.Back()
	if q.Get("state") != "s1" {
		t.Fatalf("came back with %v", q)
	}
	tokens, err := rp.Config.Exchange(context.Background(), q.Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}

	// With form_post, the browser sends the response automatically.
	b.Open(rp.Config.AuthCodeURL("s2", oauth2.S256ChallengeOption(verifier),
		oauth2.SetAuthURLParam("response_mode", "form_post")),
		browsertest.Heading("Relying party /cb"))
	if q := rp.Back(); q.Get("state") != "s2" || q.Get("code") == "" {
		t.Errorf("form_post: %v", q)
	}

	b.Open(d.cfg.Origin()+"/account", browsertest.Heading("Your account"))
	b.Look("account")
	b.Do(chromedp.Clear("#name"), chromedp.SendKeys("#name", "Ann B.\r"), chromedp.WaitVisible("#done"))
	b.Look("account-notice")

	// The account changes its address with the link in an email, and then changes it back.
	for _, email := range []string{"anna@example.org", "ann@example.org"} {
		b.Open(d.cfg.Origin()+"/account", browsertest.Heading("Your account"),
			chromedp.Click("details:has(#email) summary"), chromedp.SendKeys("#email", email),
			chromedp.SendKeys("#email_password", "wrong\r"),
			chromedp.WaitVisible("#fault"))
		b.Look("change-fault")
		b.Do(chromedp.SendKeys("#email_password", daemontest.Password+"\r"), chromedp.WaitVisible("#done"))
		b.Look("change-asked")
		b.Open(d.mailed("/verify?", email), browsertest.Heading("Confirm your new address"))
		b.Look("change")
		b.Click("form[action='/verify'] button", browsertest.Heading("Email address changed"))
	}

	id, _ := tokens.Extra("id_token").(string)
	logout := d.cfg.Origin() + "/api/oauth/logout?" +
		url.Values{"client_id": {rp.Config.ClientID}, "post_logout_redirect_uri": {rp.URL + "/bye"}}.Encode()
	b.Open(logout, browsertest.Heading("Sign out?"))
	b.Look("logout")
	b.Click("form[action='/logout'] button", browsertest.Heading("Relying party /bye"))
	b.Open(logout+"&id_token_hint="+id, browsertest.Heading("Relying party /bye"))
	b.Open(d.cfg.Origin()+"/account", browsertest.Heading("Sign in"))

	for name, page := range map[string][2]string{
		"forgot": {"/password/forgot", "Forgot your password?"},
		"broken": {"/password/reset?token=x&email=ann@example.org", "This link no longer works"},
		"verify": {"/verify?token=x&email=ann@example.org", "This link no longer works"},
		"authorize": {
			"/api/oauth/authorize?client_id=" + rp.Config.ClientID + "&redirect_uri=https://evil.example/",
			"Sign-in failed",
		},
		"signed-out": {"/logout", "You’re signed out"},
	} {
		b.Open(d.cfg.Origin()+page[0], browsertest.Heading(page[1]))
		b.Look(name)
	}

	// The link in an email sets a new password.
	b.Open(d.cfg.Origin()+"/password/forgot", chromedp.SendKeys("#email", "ann@example.org\r"),
		browsertest.Heading("Check your inbox"))
	b.Look("look-into-mail")
	b.Open(d.mailed("/password/reset?", "ann@example.org"), browsertest.Heading("New password"))
	b.Look("reset")
	b.Do(chromedp.SendKeys("#new_password", "battery horse correct\r"), browsertest.Heading("Password saved"))
	b.Look("password-set")
}

// TestBrowserOverPlainHTTP checks that forms work without Sec-Fetch-Site. Browsers only send it to trusted hosts (https
// and loopback), and older ones never do.
func TestBrowserOverPlainHTTP(t *testing.T) {
	b := browsertest.New(t, "news.example.org")
	d := start(t, func(c *config.Config) {
		c.Server.Listen = daemontest.FreeAddr(t)
		_, port, _ := strings.Cut(c.Server.Listen, ":")
		c.Server.PublicURL = "http://news.example.org:" + port
	})
	d.addUser("ann@example.org")
	b.Open(d.cfg.Origin()+"/login", browsertest.Heading("Sign in"),
		chromedp.SendKeys("#email", "ann@example.org"), chromedp.SendKeys("#password", daemontest.Password+"\r"),
		browsertest.Heading("Welcome"))
}
