package handlers

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/auth"
	"newsletterd/auth/authtest"
	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/identity"
	"newsletterd/store/storetest"
)

// authenticator returns the code that an app shows for the key on a page.
func authenticator(t *testing.T, page string) string {
	t.Helper()
	found := regexp.MustCompile(`<code>((?:[A-Z2-7]{4} ?)+)</code>`).FindStringSubmatch(page)
	if found == nil {
		t.Fatal("no key in", textOf(page))
	}
	return authtest.TOTP(t, found[1], time.Now())
}

// pageEnvLater returns an environment inside a bubble. scs's store compares times with SQLite's own clock, which shows
// the real time.
func pageEnvLater(t *testing.T, options ...db.Options) *pageEnv {
	time.Sleep(time.Until(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)))
	e := newPageEnv(t, "https://news.example.org", options...)
	t.Cleanup(func() {
		if err := e.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// page returns the status and the text of a response.
func (e *pageEnv) page(method, path string, form url.Values) (int, string) {
	e.Helper()
	res := e.ask(method, path, form)
	body, err := io.ReadAll(res.Body)
	if err != nil {
		e.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// mailed checks that the queued emails are of these kinds, in this order.
func (e *pageEnv) mailed(kinds ...string) {
	e.Helper()
	mails, err := e.store.DueMails(e.Context(), core.At(time.Now()), 100)
	var found []string
	for _, m := range mails {
		found = append(found, m.Kind)
	}
	if err != nil || !slices.Equal(found, kinds) {
		e.Error(found, err)
	}
}

func (e *pageEnv) verifyAnn() {
	e.Helper()
	u, err := e.store.UserByEmail(e.Context(), "ann@user.example")
	if err == nil {
		_, err = e.store.UpdateUser(e.Context(), u.ID, identity.UserInput{Verified: new(true)}, u.CreatedAt)
	}
	if err != nil {
		e.Fatal(err)
	}
}

// A user sets up an authenticator app on the account page, signs in with two factors, uses a recovery code, and turns
// it off.
func TestTwoStepSignIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := pageEnvLater(t)
		begin := url.Values{"action": {"begin"}}
		e.login()
		if code, page := e.page("POST", twoStepPath, begin); code != 403 {
			t.Error("an address that isn't verified:", code, textOf(page))
		}
		e.verifyAnn()
		time.Sleep(core.ProofAge + time.Minute)
		_, page := e.page("POST", twoStepPath, begin)
		again := formOf(t, page)
		again.Set("password", "wrong")
		code, page := e.page("POST", proofPath, again)
		if code != 400 || strings.Contains(page, "<svg") {
			t.Error("a wrong password:", code, textOf(page))
		}
		again = formOf(t, page)
		again.Set("password", "correct horse battery")
		_, page = e.page("POST", proofPath, again)
		code, page = e.page("POST", twoStepPath, formOf(t, page))
		if code != 200 || !strings.Contains(page, "<svg") {
			t.Fatal(code, textOf(page))
		}
		if code, page := e.page("POST", twoStepPath, url.Values{"action": {"confirm"}, "code": {"1"}}); code != 400 ||
			!strings.Contains(page, wordsOfPages()["en"].FaultCode) {
			t.Error("a wrong code:", code, textOf(page))
		}
		code, page = e.page("POST", twoStepPath, url.Values{"action": {"confirm"}, "code": {authenticator(t, page)}})
		recovery := regexp.MustCompile(`[a-z2-7]{4}(-[a-z2-7]{4}){3}`).FindAllString(page, -1)
		if code != 200 || len(recovery) != 10 {
			t.Fatal(code, textOf(page))
		}
		e.cookies = map[string]string{}
		res := e.login()
		if to := res.Header.Get("Location"); !strings.HasPrefix(to, "https://news.example.org/login/code?continue=") {
			t.Fatal(to)
		}
		if e.in() {
			t.Fatal("the password alone has signed in")
		}
		if code, page := e.page("POST", codePath, url.Values{"code": {"000000"}}); code != 400 || e.in() {
			t.Fatal(code, textOf(page))
		}
		if code, page := e.page("POST", codePath, url.Values{"code": {recovery[0]}}); code != 303 || !e.in() {
			t.Fatal(code, textOf(page))
		}
		for _, path := range []string{twoStepPath, accountPath} {
			if _, page = e.page("GET", path, nil); !strings.Contains(page, "Recovery codes left: 9") {
				t.Error(textOf(page))
			}
		}
		used := recovery[0]
		_, page = e.page("POST", twoStepPath, url.Values{"action": {"codes"}})
		recovery = regexp.MustCompile(`[a-z2-7]{4}(-[a-z2-7]{4}){3}`).FindAllString(page, -1)
		off := url.Values{"action": {"remove"}}
		time.Sleep(core.ProofAge + time.Minute)
		_, page = e.page("POST", twoStepPath, off)
		proof := formOf(t, page)
		proof.Set("password", "correct horse battery")
		for _, code := range []string{"", used} {
			proof.Set("code", code)
			if status, page := e.page("POST", proofPath, proof); status != 400 {
				t.Errorf("the code %q: %d %s", code, status, textOf(page))
			}
		}
		proof.Set("code", recovery[1])
		if code, page := e.page("POST", proofPath, proof); code != 200 || formOf(t, page).Encode() != off.Encode() {
			t.Error(code, textOf(page))
		}
		if code, page := e.page("POST", twoStepPath, off); code != 200 ||
			!strings.Contains(page, wordsOfPages()["en"].DidTwoStepOff) {
			t.Error(code, textOf(page))
		}
		e.cookies = map[string]string{}
		e.login()
		if !e.in() {
			t.Error("switched off, and the password alone doesn't sign in")
		}
		e.mailed(core.MailTwoStepOn, core.MailRecoveryCodes, core.MailTwoStepOff)
		for action, detail := range map[string]string{
			"user.factor":         `{"second_factor":{"before":null,"after":"totp"}}`,
			"user.recovery_codes": `{"recovery_codes":{"before":9,"after":10}}`,
			"user.factor_removed": `{"second_factor":{"before":"totp","after":null}}`,
		} {
			rows, _, err := e.store.Audit(t.Context(), core.AuditFilter{Action: action}, core.Page{Limit: 1})
			if err != nil || len(rows) != 1 || string(rows[0].Changes) != detail || !strings.HasPrefix(rows[0].Actor, "user:") {
				t.Error(action, rows, err)
			}
		}
	})
}

// If the configuration requires a second factor, the next sign-in sets it up. Until then, the user is not signed in.
func TestSignInDemandsASecondStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := pageEnvLater(t)
		e.verifyAnn()
		e.handler.options.Auth.SecondFactor = auth.FactorAll
		e.login()
		code, page := e.page("GET", codePath, nil)
		if code != 200 || e.in() {
			t.Fatal(code, textOf(page))
		}
		client, _ := storetest.Seed(t, e.store).NewClient(core.ClientInput{
			Name: new("web"), RedirectURIs: &[]string{"https://rp.example/cb"},
		})
		res := e.ask("GET", codePath+"?"+url.Values{"continue": {"/api/oauth/authorize?" + url.Values{
			"client_id": {client.ID}, "redirect_uri": {"https://rp.example/cb"}, "response_type": {"code"},
			"scope": {"openid"}, "code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"},
			"code_challenge_method": {"S256"},
		}.Encode()}}.Encode(), nil)
		if policy := res.Header.Get("Content-Security-Policy"); !strings.Contains(policy,
			"form-action 'self' https://rp.example;") {
			t.Error("where the form may lead:", policy)
		}
		if again, _ := e.page("POST", codePath, url.Values{"code": {"12"}}); again != 400 || e.in() {
			t.Fatal(again)
		}
		code, page = e.page("POST", codePath, url.Values{"code": {authenticator(t, page)}})
		if code != 200 || !strings.Contains(page, wordsOfPages()["en"].RecoveryTitle) || !e.in() {
			t.Fatal(code, textOf(page))
		}
	})
}

// A sign-in waits ten minutes for its code, and only in the same browser.
func TestCodePageWithoutASignIn(t *testing.T) {
	e := newPageEnv(t, "https://news.example.org")
	if res := e.ask("GET", codePath, nil); res.StatusCode != http.StatusFound &&
		res.StatusCode != http.StatusSeeOther || !strings.Contains(res.Header.Get("Location"), "/login?") {
		t.Error(res.StatusCode, res.Header)
	}
	if code, page := e.page("POST", codePath, url.Values{"code": {"123456"}}); code != 400 ||
		!strings.Contains(page, wordsOfPages()["en"].FaultOver) {
		t.Error(code, textOf(page))
	}
}
