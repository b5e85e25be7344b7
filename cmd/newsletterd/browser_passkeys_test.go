package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"golang.org/x/oauth2"

	"newsletterd/auth/authtest"
	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/oidctest"
)

// phisher returns a site that shows the daemon's pages as its own, and forwards the input of its visitors.
func phisher(t *testing.T, origin string) string {
	t.Helper()
	to, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = to.Host
		r.Out.Header.Set("Origin", origin)
		r.Out.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Out.Header.Del("Accept-Encoding")
	}, ModifyResponse: func(res *http.Response) error {
		res.Header.Set("Location", strings.TrimPrefix(res.Header.Get("Location"), origin))
		res.Header.Del("Content-Security-Policy")
		return nil
	}}
	site := httptest.NewServer(proxy)
	t.Cleanup(site.Close)
	return strings.TrimPrefix(site.URL, "http://127.0.0.1")
}

// TestBrowserPasskeys adds passkeys in a browser, signs in with them, and removes one. Neither a copied passkey nor a
// site in the middle can sign in.
func TestBrowserPasskeys(t *testing.T) {
	b := browsertest.New(t)
	d := start(t, func(c *config.Config) {
		c.Server.Listen = daemontest.FreeAddr(t)
		_, port, _ := strings.Cut(c.Server.Listen, ":")
		c.Server.PublicURL = "http://localhost:" + port
	})
	origin := d.cfg.Origin()
	d.addUser("ann@example.org")
	rp := oidctest.New(t, d.seed, origin)

	signIn := func() {
		t.Helper()
		b.Open(origin+"/login", chromedp.SendKeys("#email", "ann@example.org"),
			chromedp.SendKeys("#password", daemontest.Password+"\r"), browsertest.Heading("Welcome"))
	}
	add := func(name string) {
		t.Helper()
		b.Open(origin+"/account/passkeys", chromedp.WaitVisible("form[data-passkey]"), chromedp.Clear("#name"),
			chromedp.SendKeys("#name", name), chromedp.Click("form[data-passkey] button"),
			chromedp.WaitVisible(".notice"))
	}
	signIn()
	b.Look("account-passkeys")
	b.Open(origin+"/account/passkeys", chromedp.WaitVisible("form[data-passkey]"))
	b.Look("passkeys-none")
	phone := b.NewAuthenticator()
	add("Phone")
	b.Look("passkeys")

	// The login page offers the passkey below the address field.
	b.ForgetCookies()
	verifier := oauth2.GenerateVerifier()
	b.Open(rp.Config.AuthCodeURL("s", oauth2.S256ChallengeOption(verifier),
		oauth2.SetAuthURLParam("acr_values", "phr")),
		browsertest.Heading("Allow access?"))
	b.Click(`button[value="allow"]`, browsertest.Heading("Relying party /cb"))
	tokens, err := rp.Config.Exchange(context.Background(), rp.Back().Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}
	id, _ := tokens.Extra("id_token").(string)
	if claims := authtest.Claims(t, id); claims["acr"] != "phr" || !slices.Equal(claims["amr"].([]any),
		[]any{"hwk", "user", "mfa"}) {
		t.Error(claims)
	}

	// Another device has its own passkey.
	lost := phone.Unplug()
	laptop := b.NewAuthenticator()
	add("Laptop")
	b.ForgetCookies()
	b.Open(origin+"/login", browsertest.Heading("Welcome"))

	// This copy of the first key has a lower counter than the server has seen.
	before := *lost[0]
	kept := laptop.Unplug()
	phone = b.NewAuthenticator(lost...)
	b.ForgetCookies()
	b.Open(origin+"/login", browsertest.Heading("Welcome"))
	phone.Unplug()
	before.SignCount = 0
	copied := b.NewAuthenticator(&before)
	b.ForgetCookies()
	b.Open(origin+"/login", browsertest.Fault("copied"))
	b.Look("passkey-copied")
	copied.Unplug()

	// These are sites in the middle: one on another port, for which the authenticator signs, and one with another name,
	// for which it doesn't.
	laptop = b.NewAuthenticator(kept...)
	port := phisher(t, origin)
	b.Open("http://localhost"+port+"/login", browsertest.Fault("wasn’t accepted"))
	b.Open("http://phish.localhost"+port+"/login", chromedp.Click("form[data-passkey] button"),
		chromedp.WaitVisible("[data-failed]"))
	b.Look("passkey-failed")
	b.ForgetCookies()

	// A removed passkey can't sign in.
	b.Open(origin+"/login", browsertest.Heading("Welcome"))
	b.Open(origin+"/account/passkeys", chromedp.Click(`summary[aria-label="Remove: Laptop"]`))
	b.Look("passkey-remove")
	b.Click("details[open] button", browsertest.Notice("removed"))
	b.ForgetCookies()
	b.Open(origin+"/login", browsertest.Fault("wasn’t accepted"))
	laptop.Unplug()

	// Without scripts the page offers the password.
	b.Open(origin + "/logout")
	b.Do(browsertest.Scripts(false))
	signIn()
}

// TestBrowserForeignFrame checks that a page of another origin can't show the login in a frame. If a proxy has removed
// the header that forbids it, a passkey used in the frame doesn't sign in.
func TestBrowserForeignFrame(t *testing.T) {
	b := browsertest.New(t)
	listen := daemontest.FreeAddr(t)
	bare := "http://localhost" + phisher(t, "http://"+listen)
	d := start(t, func(c *config.Config) { c.Server.Listen, c.Server.PublicURL = listen, bare })
	d.addUser("ann@example.org")
	b.Open(bare+"/login", chromedp.SendKeys("#email", "ann@example.org"),
		chromedp.SendKeys("#password", daemontest.Password+"\r"), browsertest.Heading("Welcome"))
	phone := b.NewAuthenticator()
	b.Open(bare+"/account/passkeys", chromedp.WaitVisible("form[data-passkey]"),
		chromedp.Click("form[data-passkey] button"), browsertest.Notice("added"))
	b.ForgetCookies()
	b.Open(bare+"/login", browsertest.Heading("Welcome")) // it works outside a frame
	b.ForgetCookies()

	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `<h1>Outer</h1><iframe width=800 height=800 allow="publickey-credentials-get *" src="%s"
			onload="document.querySelector('h1').textContent += ' loaded'"></iframe>`, r.FormValue("page"))
	}))
	t.Cleanup(outer.Close)
	_, port, _ := strings.Cut(listen, ":")
	near := strings.Replace(outer.URL, "127.0.0.1", "localhost", 1) // same site, so cookies are sent
	for _, path := range []string{"/login", "/register", "/password/forgot", "/logout"} {
		page := "http://localhost:" + port + path
		b.Open(near+"/?page="+page, browsertest.Heading("Outer loaded"))
		if f := b.Frames(); len(f) != 1 || f[0].UnreachableURL != page {
			t.Errorf("%s is shown: %+v", path, f[0])
		}
	}
	b.Open(near+"/?page="+bare+"/login", browsertest.Heading("Outer loaded loaded"))
	if f := b.Frames()[0]; f.URL != bare+"/login/passkey" { // the passkey was sent without effect
		t.Errorf("%+v", f)
	}
	phone.Unplug()
	b.Open(bare+"/account", browsertest.Heading("Sign in"))
}
