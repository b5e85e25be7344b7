package handlers

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/members"
)

const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"

// browse sends a request as a browser with a language does, to a host.
func browse(h http.Handler, method, host, path, accept, language string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.Host = host
	r.Header.Set("Accept", accept)
	r.Header.Set("Accept-Language", language)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// For unknown paths, browsers get pages in their language. API clients, and the paths for them, still get JSON. The
// status is the same for both.
func TestBrowsersGetPages(t *testing.T) {
	e := newPageEnv(t, "https://news.example.org")
	for _, path := range []string{"/nothing", "/login/", "/apix", "/v", "/webhook", "/healthzz"} {
		w := browse(e.handler, "GET", "news.example.org", path, browserAccept, "de-AT")
		if w.Code != 404 || w.Header().Get("Content-Type") != "text/html; charset=utf-8" ||
			!strings.Contains(w.Body.String(), `<html lang="de">`) ||
			!strings.Contains(w.Body.String(), wordsOfPages()["de"].MissingText) ||
			w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %d %v\n%s", path, w.Code, w.Header(), w.Body)
		}
	}
	for _, tc := range [][2]string{
		{"/nothing", "*/*"},
		{"/", "*/*"},
		{"/", ""},
		{"/", "application/json"},
		{"/api/nothing", browserAccept},
		{"/api", browserAccept},
		{"/webhooks/a/b/c", browserAccept},
		{"/.well-known/nothing", browserAccept},
		{"/healthz/x", browserAccept},
		{"/openapi-nothing.json", browserAccept},
	} {
		w := browse(e.handler, "GET", "news.example.org", tc[0], tc[1], "de")
		if w.Code != 404 || w.Header().Get("Content-Type") != "application/json" ||
			!strings.Contains(w.Body.String(), `"not_found"`) {
			t.Errorf("%s %s: %d %s", tc[0], tc[1], w.Code, w.Body)
		}
	}
	if w := browse(e.handler, "POST", "news.example.org", "/", browserAccept, ""); w.Code != 404 {
		t.Errorf("POST /: %d", w.Code)
	}
	if w := browse(e.handler, "GET", "news.example.org", "/", browserAccept, ""); w.Code != 302 ||
		w.Header().Get("Location") != "https://news.example.org/login" {
		t.Errorf("/: %d %v", w.Code, w.Header())
	}
	e.login()
	if res := e.ask("GET", "/", nil); res.StatusCode != 404 { // not a browser
		t.Errorf("/: %d", res.StatusCode)
	}
}

// At the host of a tenant's public_url, the root page shows the active lists in the tenant's language and design. Pages
// for unknown paths have the same language and design.
func TestTenantsOwnHost(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("tenant other")
	e.step("list weekly tenant=acme")
	e.step("list asleep tenant=acme status=inactive")
	e.step("list foreign tenant=other")
	_, err := e.store.UpdateTenant(t.Context(), e.names["acme"], "test", func(t *core.Tenant) error {
		t.PublicURL, t.BrandName, t.BrandColor, t.Language = "https://letters.acme.example", "Acme Letters", "#112233",
			"fr"
		return nil
	})
	e.must(err)
	w := browse(e.handler, "GET", "LETTERS.acme.example:443", "/", browserAccept, "de")
	page := w.Body.String()
	if w.Code != 200 || !strings.Contains(page, "/l/"+e.names["weekly"]) || strings.Contains(page, e.names["asleep"]) ||
		strings.Contains(page, e.names["foreign"]) {
		t.Errorf("%d\n%s", w.Code, page)
	}
	for _, want := range []string{`<html lang="fr">`, "Acme Letters", "color=112233", "/preferences?list=" +
		e.names["weekly"]} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	w = browse(e.handler, "GET", "letters.acme.example", "/lost", browserAccept, "de")
	if w.Code != 404 || !strings.Contains(w.Body.String(), "Acme Letters") ||
		!strings.Contains(w.Body.String(), wordsOfPages()["fr"].MissingTitle) {
		t.Errorf("%d\n%s", w.Code, w.Body)
	}
	for _, host := range []string{"acme.example", "", "letters.acme.example:8443", "'; --"} {
		if w := browse(e.handler, "GET", host, "/", browserAccept, ""); w.Code != 302 {
			t.Errorf("%q: %d", host, w.Code)
		}
	}
}

// Every page for users is in the language of the browser, and no page contains a word of another language.
func TestUserPagesInEveryLanguage(t *testing.T) {
	e := newPageEnv(t, "https://news.example.org")
	for _, lang := range core.Languages {
		w := wordsOfPages()[lang]
		for path, want := range map[string][]string{
			"/login":                    {w.SignIn, w.Email, w.Password, w.ForgotLink, w.SignUp},
			"/register":                 {w.SignUp, w.SignUpHint, w.HaveAccount},
			"/password/forgot":          {w.ForgotText, w.ForgotButton, w.BackSignIn},
			"/password/reset?token=x":   {w.OverTitle, w.OverText, w.OverButton},
			"/verify?token=x":           {w.OverTitle},
			"/confirm?token=x":          {w.LinkBroken},
			"/unsubscribe?token=x":      {w.LinkBroken},
			"/l/nothing":                {w.ListText},
			"/nothing":                  {w.MissingText, w.MissingTitle},
			"/consent":                  {w.MissingText},
			"/api/oauth/authorize":      {w.LoginFaultTitle, w.LoginFaultText},
			"/api/oauth/logout?state=x": nil,
		} {
			r := browse(e.handler, "GET", "news.example.org", path, browserAccept, lang)
			page := textOf(r.Body.String())
			if !strings.Contains(r.Body.String(), `<html lang="`+lang+`">`) && r.Code != 302 {
				t.Errorf("%s %s: another language\n%s", lang, path, page)
			}
			for _, s := range want {
				if !strings.Contains(page, s) {
					t.Errorf("%s %s: no %q in\n%s", lang, path, s, page)
				}
			}
		}
	}
}

// The signup page follows the rules of the API: it responds in the same way with and without an account, rejects weak
// passwords, and doesn't exist if registration is closed.
func TestSignUpPage(t *testing.T) {
	e := newPageEnv(t, "https://news.example.org")
	post := func(email, password string) (int, string) {
		t.Helper()
		res := e.ask("POST", "/register", url.Values{"email": {email}, "password": {password}})
		b := make([]byte, 20000)
		n, _ := res.Body.Read(b)
		return res.StatusCode, textOf(string(b[:n]))
	}
	status, fresh := post("new@user.example", "correct horse battery")
	if status != 200 || !strings.Contains(fresh, "new@user.example") {
		t.Errorf("%d %s", status, fresh)
	}
	if status, known := post("ann@user.example", "correct horse battery"); status != 200 ||
		strings.ReplaceAll(known, "ann@", "new@") != fresh {
		t.Errorf("%d %s\nand for a new one:\n%s", status, known, fresh)
	}
	if status, text := post("third@user.example", "short"); status != 400 ||
		!strings.Contains(text, wordsOfPages()["en"].FaultShort) {
		t.Errorf("%d %s", status, text)
	}
	if status, text := post("no address", "correct horse battery"); status != 400 ||
		!strings.Contains(text, wordsOfPages()["en"].FaultEmail) {
		t.Errorf("%d %s", status, text)
	}
	r := httptest.NewRequest("POST", "/register",
		strings.NewReader("email=x%40user.example&password=correct+horse+battery"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	w := httptest.NewRecorder()
	if e.handler.ServeHTTP(w, r); w.Code != 403 {
		t.Errorf("from another site: %d", w.Code)
	}
	e.handler.options.Auth.ClosedRegistration = true
	for _, method := range []string{"GET", "POST"} {
		if res := e.ask(method, "/register", url.Values{
			"email":    {"x@user.example"},
			"password": {"correct horse battery"},
		}); res.StatusCode != 403 {
			t.Errorf("closed, %s: %d", method, res.StatusCode)
		}
	}
	if page := textOf(browse(e.handler, "GET", "news.example.org", "/login", browserAccept,
		"").Body.String()); strings.Contains(page, wordsOfPages()["en"].SignUp) {
		t.Error("a closed registration is offered")
	}
}

// If a confirmation link is used again, the page says that it was used. For a token that the caller got in a response,
// it doesn't, because that would reveal who is subscribed. If the person was confirmed in another way, the link in the
// email still asks for confirmation.
func TestConfirmLinkUsedAgain(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("list weekly tenant=acme")
	e.step("subscription s list=weekly email=ann@b.example status=pending")
	e.step("confirm-mail link email=ann@b.example")
	mailed := e.names["link"]
	send := func(path, kind, body string) string {
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		e.handler.ServeHTTP(w, r)
		return w.Body.String()
	}
	body := send("/api/newsletter/subscribe", "application/json", `{"list_id":"`+e.names["weekly"]+
		`","email":"ann@b.example"}`)
	_, rest, ok := strings.Cut(body, `"confirm_token":"`)
	answered, _, _ := strings.Cut(rest, `"`)
	if !ok {
		t.Fatal(body)
	}
	post := func(token string) string {
		return textOf(send("/confirm", "application/x-www-form-urlencoded", "token="+token))
	}
	get := func(token string) string {
		return textOf(browse(e.handler, "GET", "x", "/confirm?token="+token, browserAccept, "").Body.String())
	}
	w := wordsOfPages()["en"]
	button, first, again := w.ConfirmButton, w.ConfirmedTitle, w.AlreadyTitle
	for i, step := range []struct{ got, want string }{
		{get(mailed), button},
		{post(answered), first},
		{post(answered), first},
		{get(answered), button},
		{get(mailed), button},
		{post(mailed), first},
		{post(mailed), again},
		{get(mailed), again},
		{post(answered), first},
		{get(answered), button},
	} {
		if !strings.Contains(step.got, step.want) {
			t.Errorf("step %d: no %q in %s", i, step.want, step.got)
		}
	}
	sub, err := e.store.Subscription(t.Context(), e.names["weekly"], "ann@b.example")
	e.must(err)
	_, err = e.store.Unsubscribe(t.Context(), members.UnsubscribeRequest{ListID: sub.ListID, SubscriptionID: sub.ID},
		core.At(time.Now()))
	e.must(err)
	const left = "ann@b.example has since been unsubscribed from weekly"
	for i, got := range []string{get(mailed), post(mailed)} {
		if !strings.Contains(got, left) || strings.Contains(got, button) {
			t.Errorf("after leaving, %d: %s", i, got)
		}
	}
	if got := get(answered); !strings.Contains(got, button) {
		t.Errorf("an answered token tells who has left: %s", got)
	}
}
