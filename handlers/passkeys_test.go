package handlers

import (
	"errors"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/auth"
	"newsletterd/auth/authtest"
	"newsletterd/core"
	"newsletterd/store/identity"
)

const passkeyOrigin = "https://news.example.org"

// passkeyOptions returns the options that a page gives to the browser's script.
func (e *pageEnv) passkeyOptions(path string) string {
	e.Helper()
	code, page := e.page("GET", path, nil)
	found := regexp.MustCompile(`data-passkey="([^"]*)"`).FindStringSubmatch(page)
	if found == nil {
		e.Fatal(path, code, textOf(page))
	}
	return html.UnescapeString(found[1])
}

// addPasskey adds a passkey to Ann's account, for which she has recently signed in.
func (e *pageEnv) addPasskey(k *authtest.Passkey) (int, string) {
	e.Helper()
	return e.page("POST", passkeysPath, url.Values{
		"action": {"add"}, "name": {"Phone"}, "response": {k.Create(e, e.passkeyOptions(passkeysPath))},
	})
}

// newPasskeyEnv returns an environment in which Ann has a verified address and a passkey, and is not signed in.
func newPasskeyEnv(t *testing.T) (*pageEnv, *authtest.Passkey) {
	t.Helper()
	e, k := pageEnvLater(t), authtest.NewPasskey(t, passkeyOrigin, "news.example.org")
	e.verifyAnn()
	e.login()
	if code, page := e.addPasskey(k); code != 200 || !strings.Contains(page, wordsOfPages()["en"].DidPasskeyAdd) {
		t.Fatal(code, textOf(page))
	}
	e.cookies = map[string]string{}
	return e, k
}

// by signs in with a passkey, and returns the status and the fault on the page.
func (e *pageEnv) by(response string) (status int, fault string) {
	e.Helper()
	code, page := e.page("POST", "/login/passkey", url.Values{"response": {response}})
	if found := regexp.MustCompile(`(?s)<p class="fault" id="fault"[^>]*>(.*?)</p>`).FindStringSubmatch(page); found != nil {
		fault = html.UnescapeString(found[1])
	}
	return code, fault
}

func (e *pageEnv) audited(action string) bool {
	e.Helper()
	rows, _, err := e.store.Audit(e.Context(), core.AuditFilter{Action: action}, core.Page{Limit: 1})
	if err != nil {
		e.Fatal(err)
	}
	return len(rows) > 0
}

// A passkey is a complete sign-in. Each response of it is valid once, in the browser that was asked, and for a limited
// time.
func TestPasskeySignIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, k := newPasskeyEnv(t)
		e.handler.options.Auth.SecondFactor = auth.FactorAll // a passkey meets this, too
		answer := k.Get(t, e.passkeyOptions("/login"))
		if code, fault := e.by(answer); code != 303 || !e.in() {
			t.Fatal(code, fault)
		}
		if code, fault := e.by(answer); code != 400 || fault != wordsOfPages()["en"].FaultPasskey {
			t.Error("an answer again:", code, fault)
		}
		late := k.Get(t, e.passkeyOptions("/login"))
		time.Sleep(auth.ChallengeTTL)
		if code, fault := e.by(late); code != 400 || fault != wordsOfPages()["en"].FaultOver {
			t.Error("too late:", code, fault)
		}
		other := k.Get(t, e.passkeyOptions("/login"))
		e.cookies = map[string]string{}
		for range 2 {
			if code, fault := e.by(other); code != 400 || fault != wordsOfPages()["en"].FaultPasskey || e.in() {
				t.Error("in another browser:", code, fault)
			}
			e.passkeyOptions("/login") // now with its own secret
		}
		if !e.audited("user.passkey.add") {
			t.Error("not in the audit trail")
		}
	})
}

// No one is signed in if the authenticator or the browser sends data of another user or another page.
func TestPasskeyRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, k := newPasskeyEnv(t)
		stranger := authtest.NewPasskey(t, passkeyOrigin, "news.example.org")
		for name, change := range map[string]func(k *authtest.Passkey){
			"a page of another origin":         func(k *authtest.Passkey) { k.Origin = "https://news.example.org.evil.example" },
			"another port":                     func(k *authtest.Passkey) { k.Origin += ":8443" },
			"plain http":                       func(k *authtest.Passkey) { k.Origin = "http://news.example.org" },
			"a host above":                     func(k *authtest.Passkey) { k.RPID = "example.org" },
			"a user who was not verified":      func(k *authtest.Passkey) { k.NoVerify = true },
			"a key that was not synced before": func(k *authtest.Passkey) { k.Synced = true },
			"an unknown key":                   func(k *authtest.Passkey) { *k = *stranger },
		} {
			copied := k.Copy()
			change(copied)
			if code, fault := e.by(copied.Get(t, e.passkeyOptions("/login"))); code != 400 ||
				fault != wordsOfPages()["en"].FaultPasskey || e.in() {
				t.Errorf("%s: %d %q", name, code, fault)
			}
		}
		for _, text := range []string{"", "{}", "x", `{"id":"","rawId":"","type":"public-key","response":{}}`} {
			if code, fault := e.by(text); code != 400 || fault != wordsOfPages()["en"].FaultPasskey {
				t.Errorf("%q: %d %q", text, code, fault)
			}
		}
		for range 3 {
			e.by(stranger.Get(t, e.passkeyOptions("/login")))
		}
		if code, fault := e.by(k.Get(t, e.passkeyOptions("/login"))); code != 429 ||
			fault != wordsOfPages()["en"].LoginsText {
			t.Error("after ten failures:", code, fault)
		}
		time.Sleep(time.Hour)
		if code, fault := e.by(k.Get(t, e.passkeyOptions("/login"))); code != 303 {
			t.Error("an hour later:", code, fault)
		}
	})
}

// If the counter of a passkey goes back, the passkey was copied. It can't sign in, and the audit log records that.
// Passkeys without a counter are not affected.
func TestCopiedPasskey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, k := newPasskeyEnv(t)
		copied := k.Copy()
		for range 2 {
			if code, fault := e.by(k.Get(t, e.passkeyOptions("/login"))); code != 303 {
				t.Fatal(code, fault)
			}
		}
		e.cookies = map[string]string{}
		if code, fault := e.by(copied.Get(t, e.passkeyOptions("/login"))); code != 400 ||
			fault != wordsOfPages()["en"].FaultPasskeyCopied || e.in() || !e.audited("user.passkey.copied") {
			t.Error(code, fault)
		}
		silent := authtest.NewPasskey(t, passkeyOrigin, "news.example.org")
		silent.Count = 0
		if code, fault := e.by(k.Get(t, e.passkeyOptions("/login"))); code != 303 {
			t.Fatal(code, fault)
		}
		if code, page := e.addPasskey(silent); code != 200 {
			t.Fatal(code, textOf(page))
		}
		for range 2 {
			if code, fault := e.by(silent.Get(t, e.passkeyOptions("/login"))); code != 303 {
				t.Error(code, fault)
			}
		}
	})
}

// The passkeys page requires a fresh sign-in, with a second factor if there is one. It can then name, rename and remove
// passkeys. A form that was sent too late continues after the sign-in.
func TestPasskeysPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, k := newPasskeyEnv(t)
		if res := e.ask("GET", passkeysPath, nil); res.Header.Get("Location") !=
			passkeyOrigin+"/login?continue=%2Faccount%2Fpasskeys" {
			t.Error(res.StatusCode, res.Header)
		}
		e.login()
		time.Sleep(core.ProofAge + time.Minute)
		const proof = "/login/confirm?continue=%2Faccount%2Fpasskeys"
		rename := url.Values{"action": {"rename"}, "id": {e.passkeyID()}, "name": {`Old "phone"`}}
		if res := e.ask("GET", passkeysPath, nil); res.Header.Get("Location") != passkeyOrigin+proof {
			t.Fatal(res.StatusCode, res.Header)
		}
		if code, page := e.page("POST", "/login/confirm", url.Values{"password": {"wrong"}}); code != 400 ||
			!strings.Contains(page, wordsOfPages()["en"].FaultPassword) {
			t.Error(code, textOf(page))
		}
		answer := k.Get(t, e.passkeyOptions("/login")) // created for another purpose
		if code, _ := e.page("POST", "/login/confirm", url.Values{"response": {answer}}); code != 400 {
			t.Error("a challenge of the login:", code)
		}
		password := url.Values{
			"password": {"correct horse battery"}, "continue": {passkeysPath},
			"form": {rename.Encode()},
		}
		if code, page := e.page("POST", "/login/confirm", password); code != 200 || formOf(t, page).Get("name") == "" {
			t.Error(code, textOf(page))
		}
		if code, page := e.page("POST", passkeysPath, rename); code != 200 ||
			strings.Contains(page, `name="password"`) ||
			!strings.Contains(page, wordsOfPages()["en"].FaultPasskeyNeeded) {
			t.Fatal("a password has proved an account with a passkey:", code, textOf(page))
		}
		code, page := e.page("POST", passkeysPath, rename)
		kept := formOf(t, page)
		if code != 200 || kept.Get("continue") != passkeysPath || kept.Get("form") != rename.Encode() {
			t.Fatal(code, kept)
		}
		for _, foreign := range []string{"https://evil.example/", "//evil.example", "/logout"} {
			_, page = e.page("POST", "/login/confirm", url.Values{
				"continue": {foreign}, "form": {"x=1"}, "response": {k.Get(t, e.passkeyOptions(proof))},
			})
			if strings.Contains(page, "<form") {
				t.Error("a form goes to", foreign)
			}
		}
		time.Sleep(core.ProofAge + time.Minute)
		kept.Set("response", k.Get(t, e.passkeyOptions(proof)))
		_, page = e.page("POST", "/login/confirm", kept)
		if sent := formOf(t, page); !strings.Contains(page, `action="/account/passkeys"`) ||
			sent.Encode() != rename.Encode() {
			t.Fatal(page)
		}
		if code, page := e.page("POST", passkeysPath, rename); code != 200 ||
			!strings.Contains(page, "Old &#34;phone&#34;") {
			t.Error(code, textOf(page))
		}
		rename.Set("name", strings.Repeat("x", 61))
		if code, page := e.page("POST", passkeysPath, rename); code != 400 {
			t.Error("a long name:", code, textOf(page))
		}
		if code, page := e.addPasskey(k); code != 400 || !strings.Contains(page,
			wordsOfPages()["en"].FaultPasskeyKnown) {
			t.Error("a key again:", code, textOf(page))
		}
		wrong := authtest.NewPasskey(t, "https://evil.example", "news.example.org")
		if code, page := e.addPasskey(wrong); code != 400 || !strings.Contains(page,
			wordsOfPages()["en"].FaultPasskey) {
			t.Error("a key of another origin:", code, textOf(page))
		}
		remove := url.Values{"action": {"remove"}, "id": {e.passkeyID()}}
		if code, page := e.page("POST", passkeysPath, remove); code != 200 ||
			!strings.Contains(page, wordsOfPages()["en"].PasskeysNone) || !e.audited("user.passkey.remove") ||
			!e.audited("user.passkey.rename") {
			t.Error(code, textOf(page))
		}
		e.cookies = map[string]string{}
		if code, _ := e.by(k.Get(t, e.passkeyOptions("/login"))); code != 400 || e.in() {
			t.Error("a removed key:", code)
		}
	})
}

// If a passkey is removed while its owner is asked for a fresh sign-in, or while that is checked, the page says so and
// offers the remaining ways. It keeps the submitted form.
func TestPasskeyRemovedAtTheProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, k := newPasskeyEnv(t)
		if code, fault := e.by(k.Get(t, e.passkeyOptions("/login"))); code != 303 {
			t.Fatal(code, fault)
		}
		time.Sleep(core.ProofAge + time.Minute)
		begin := url.Values{"action": {"begin"}}
		_, page := e.page("POST", twoStepPath, begin)
		kept := formOf(t, page)
		kept.Set("response", k.Get(t, e.passkeyOptions("/login/confirm?continue=%2Faccount%2Ftwo-step")))
		u, err := e.store.UserByEmail(t.Context(), "ann@user.example")
		if err != nil {
			t.Fatal(err)
		}
		use := identity.PasskeyUse{ID: e.passkeyID(), UserID: u.ID, Count: 99}
		if err := e.store.RemovePasskey(t.Context(), u.ID, use.ID, core.MailStyle{}, core.At(time.Now())); err != nil {
			t.Fatal(err)
		}
		code, page := e.page("POST", proofPath, kept)
		left := formOf(t, page)
		if code != 400 || !strings.Contains(page, wordsOfPages()["en"].FaultPasskeyGone) ||
			left.Get("form") != begin.Encode() ||
			!strings.Contains(page, `name="password"`) || strings.Contains(page, "data-passkey") {
			t.Fatal(code, textOf(page))
		}
		left.Set("password", "correct horse battery")
		if code, page := e.page("POST", proofPath, left); code != 200 || formOf(t, page).Encode() != begin.Encode() {
			t.Error("by the password:", code, textOf(page))
		}
		err = e.store.ProveBrowser(t.Context(), "", u.Epoch, "", &use, "", core.At(time.Now()))
		if errors.Is(err, core.ErrNotFound) || !errors.Is(err, identity.ErrPasskeyGone) {
			t.Error("removed while the proof was looked at:", err)
		}
	})
}

// passkeyID returns the id of Ann's only passkey.
func (e *pageEnv) passkeyID() string {
	e.Helper()
	u, err := e.store.UserByEmail(e.Context(), "ann@user.example")
	if err != nil {
		e.Fatal(err)
	}
	keys, err := e.store.Passkeys(e.Context(), u.ID)
	if err != nil || len(keys) != 1 {
		e.Fatal(keys, err)
	}
	return keys[0].ID
}

// Pages have a script if passkeys are offered, and otherwise say why they are not.
func TestPasskeysAreOffered(t *testing.T) {
	for origin, missing := range map[string]string{
		passkeyOrigin: "", "http://localhost:8080": "",
		"http://news.example.org":    wordsOfPages()["en"].PasskeysNeedHTTPS,
		"https://192.0.2.1":          wordsOfPages()["en"].PasskeysNeedHost,
		"https://[2001:db8::1]:8443": wordsOfPages()["en"].PasskeysNeedHost,
	} {
		e := newPageEnv(t, origin)
		res := e.ask("GET", "/login", nil)
		policy := res.Header.Get("Content-Security-Policy")
		if offered := strings.Contains(policy, "; script-src 'self';"); offered != (missing == "") {
			t.Error(origin, policy)
		}
		e.login()
		code, page := e.page("GET", passkeysPath, nil)
		if want := missing; code != 200 || !strings.Contains(html.UnescapeString(page), want) {
			t.Error(origin, code, textOf(page))
		}
		if missing == "" && !strings.Contains(html.UnescapeString(page), wordsOfPages()["en"].FaultUnverified) {
			t.Error("an address that isn't verified is offered a passkey:", textOf(page))
		}
	}
}

// If a second factor is required, a password can't open an account that has only a passkey, nor set up a factor: not on
// the page, not for a token, and not even in a sign-in that waited while the passkey was added.
func TestPasswordOfAPasskeyAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := pageEnvLater(t)
		e.verifyAnn()
		e.login()
		mine := e.cookies
		e.handler.options.Auth.SecondFactor = auth.FactorAll
		e.cookies = map[string]string{}
		e.login()
		_, waiting := e.page("GET", codePath, nil)
		theirs := e.cookies

		e.cookies = mine
		k := authtest.NewPasskey(t, passkeyOrigin, "news.example.org")
		if code, page := e.addPasskey(k); code != 200 {
			t.Fatal(code, textOf(page))
		}
		e.cookies = theirs
		code, page := e.page("POST", codePath, url.Values{"code": {authenticator(t, waiting)}})
		if code == 200 || e.in() {
			t.Error("a sign-in that waited has set up an app:", code, textOf(page))
		}
		login := url.Values{"email": {"ann@user.example"}, "password": {"correct horse battery"}}
		code, page = e.page("POST", "/login", login)
		if code != 400 || e.in() || !strings.Contains(page, wordsOfPages()["en"].FaultPasskeyNeeded) {
			t.Error("by the password alone:", code, textOf(page))
		}
		_, err := e.handler.options.Auth.PasswordGrant(t.Context(), auth.GrantRequest{
			Username: "ann@user.example", Password: "correct horse battery",
		}, core.At(time.Now()))
		if !errors.Is(err, auth.ErrPasskeyNeeded) {
			t.Error("a token by the password alone:", err)
		}
		u, err := e.store.UserByEmail(t.Context(), "ann@user.example")
		factor, err2 := e.store.SecondFactor(t.Context(), u.ID)
		if err != nil || err2 != nil || factor.Set() {
			t.Error(factor, err, err2)
		}
		if code, fault := e.by(k.Get(t, e.passkeyOptions("/login"))); code != 303 || !e.in() {
			t.Error("by the passkey:", code, fault)
		}
	})
}

// formOf returns the hidden fields of the form on a page.
func formOf(t *testing.T, page string) url.Values {
	t.Helper()
	form := url.Values{}
	for _, f := range regexp.MustCompile(`type="hidden" name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		form.Set(f[1], html.UnescapeString(f[2]))
	}
	return form
}

// If no second factor is required, a password alone can do everything in an account that has one, except change the
// factor. A passkey can do that without the password.
func TestPasswordChangesNoFactor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, k := newPasskeyEnv(t)
		e.login()
		for path, form := range map[string]url.Values{
			twoStepPath:  {"action": {"begin"}, "password": {"correct horse battery"}},
			passkeysPath: {"action": {"remove"}, "id": {e.passkeyID()}},
		} {
			if code, page := e.page("POST", path, form); code != 200 ||
				!strings.Contains(page, wordsOfPages()["en"].ProveTitle) {
				t.Error("by a password:", path, code, textOf(page))
			}
		}
		if code, page := e.page("POST", "/account", url.Values{
			"action": {"password"}, "new_password": {"another horse battery"},
		}); code != 400 || !strings.Contains(page, wordsOfPages()["en"].FaultPassword) {
			t.Error("without the present password:", code, textOf(page))
		}
		if code, fault := e.by(k.Get(t, e.passkeyOptions("/login"))); code != 303 {
			t.Fatal(code, fault)
		}
		for _, form := range []url.Values{
			{"action": {"password"}, "new_password": {"another horse battery"}},
			{"action": {"email"}, "email": {"ann2@user.example"}},
		} {
			if code, page := e.page("POST", "/account", form); code != 200 {
				t.Error("by a passkey:", form, code, textOf(page))
			}
		}
		if code, page := e.page("POST", twoStepPath, url.Values{"action": {"begin"}}); code != 200 ||
			!strings.Contains(page, "<svg") {
			t.Error("by a passkey:", code, textOf(page))
		}
		time.Sleep(core.ProofAge + time.Minute)
		if _, page := e.page("GET", "/account", nil); !strings.Contains(page, wordsOfPages()["en"].ProvePasskey) ||
			!strings.Contains(page, `name="password"`) {
			t.Error("later:", textOf(page))
		}
	})
}
