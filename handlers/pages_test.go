package handlers

import (
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

// Paths of pages.
const (
	accountPath  = page.AccountPath
	setupPath    = "/setup"
	codePath     = "/login/code"
	proofPath    = "/login/confirm"
	passkeysPath = "/account/passkeys"
	twoStepPath  = "/account/two-step"
)

// pageEnv serves pages without a network, so that hours can pass in a test.
type pageEnv struct {
	*testing.T
	store   *store.Store
	handler *Handler
	cookies map[string]string
	lang    string // language that the browser requests
}

func newPageEnv(t *testing.T, publicURL string, options ...db.Options) *pageEnv {
	t.Helper()
	e := &pageEnv{T: t, store: storetest.OpenWith(t, append(options, db.Options{})[0]), cookies: map[string]string{}}
	at := core.At(time.Now())
	p, err := auth.New(t.Context(), e.store,
		auth.Config{
			Issuer: publicURL + "/api", CommonPasswords: "allow",
			PasswordCost: auth.Argon2{Memory: 64, Passes: 1, Threads: 1},
		}, at)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := p.NewPassword(t.Context(), "password", "correct horse battery")
	if err == nil {
		err = e.store.AddUser(t.Context(), core.NewUser("ann@user.example", at), hash, at)
	}
	if err == nil {
		e.handler, err = New(Options{Store: e.store, Auth: p, PublicURL: publicURL, Bearer: p.Bearer})
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *pageEnv) ask(method, path string, form url.Values, header ...string) *http.Response {
	e.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if e.lang != "" {
		req.Header.Set("Accept-Language", e.lang)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	for name, value := range e.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	rec := httptest.NewRecorder()
	e.handler.ServeHTTP(rec, req)
	for _, k := range rec.Result().Cookies() {
		e.cookies[k.Name] = k.Value
		if k.MaxAge < 0 {
			delete(e.cookies, k.Name)
		}
	}
	return rec.Result()
}

func (e *pageEnv) login() *http.Response {
	e.Helper()
	res := e.ask("POST", "/login", url.Values{"email": {"ann@user.example"}, "password": {"correct horse battery"}})
	if res.StatusCode != http.StatusSeeOther {
		b := make([]byte, 2000)
		n, _ := res.Body.Read(b)
		e.Fatalf("login: %d %s", res.StatusCode, textOf(string(b[:n])))
	}
	return res
}

// in reports whether a user is signed in.
func (e *pageEnv) in() bool {
	e.Helper()
	return e.ask("GET", "/account", nil).StatusCode == http.StatusOK
}

// Every page, including error pages, has the headers in the contract.
func TestPageHeaders(t *testing.T) {
	e := newPageEnv(t, "https://news.example.org")
	const loads = "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self' data:; form-action 'self'"
	check := func(method, path string, res *http.Response) {
		t.Helper()
		policy := loads
		if path == "/login" && method != "PUT" {
			policy += "; script-src 'self'" // pages with passkeys
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": policy + "; base-uri 'none'; frame-ancestors 'none'",
			"Referrer-Policy":         "no-referrer",
			"X-Content-Type-Options":  "nosniff",
			"Cache-Control":           "no-store", "Strict-Transport-Security": "max-age=31536000",
			"Content-Type": "text/html; charset=utf-8",
		} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s %s: %d, %s is %q", method, path, res.StatusCode, name, got)
			}
		}
	}
	for _, path := range []string{
		"/login", "/password/forgot", "/password/reset?token=x&email=a@user.example",
		"/verify?token=x&email=a@user.example",
		"/logout",
		"/api/oauth/authorize", "/api/oauth/logout?id_token_hint=x", "/confirm?token=x", "/unsubscribe?token=x",
		"/undo?token=x", "/preferences?token=x", "/l/x",
	} {
		check("GET", path, e.ask("GET", path, nil))
	}
	check("POST", "/login", e.ask("POST", "/login", url.Values{"email": {"x"}}))
	check("PUT", "/login", e.ask("PUT", "/login", nil))
	check("POST", "/consent", e.ask("POST", "/consent", url.Values{"decision": {"perhaps"}}))
}

// Sessions get a new token at each login, which is hashed in the database. They last 12 hours without use, and 30 days
// in total.
func TestSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// scs's store compares times with SQLite's own clock, which shows the real time.
		time.Sleep(time.Until(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)))
		e := newPageEnv(t, "http://news.test")
		e.cookies[web.SessionCookie] = "a-token-that-somebody-else-has-set-before-x"
		e.login()
		first := e.cookies[web.SessionCookie]
		if first == "" || strings.HasPrefix(first, "a-token") {
			t.Fatalf("token %q", first)
		}
		if _, found, err := e.store.Sessions().Find(first); found || err != nil {
			t.Errorf("the token itself is in the database: %v", err)
		}
		e.login()
		if e.cookies[web.SessionCookie] == first {
			t.Error("the same token after another login")
		}
		second := e.cookies[web.SessionCookie]
		e.cookies[web.SessionCookie] = first
		if e.in() {
			t.Error("the token before is still good")
		}
		e.cookies[web.SessionCookie] = second
		for range 3 {
			time.Sleep(web.SessionIdle - time.Hour)
			if !e.in() {
				t.Fatal("signed out though it is used")
			}
		}
		time.Sleep(web.SessionIdle + time.Minute)
		if e.in() {
			t.Error("signed in after 12 idle hours")
		}
		e.login()
		begin := time.Now()
		for time.Since(begin) < auth.BrowserTTL-time.Hour {
			if !e.in() {
				t.Fatalf("signed out after %v", time.Since(begin))
			}
			time.Sleep(web.SessionIdle - time.Hour)
		}
		time.Sleep(time.Until(begin.Add(auth.BrowserTTL)))
		if e.in() {
			t.Error("signed in after 30 days")
		}
		if err := e.store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// If the session store fails, the status is 503, and no one is signed out.
func TestSessionStoreFailure(t *testing.T) {
	e := newPageEnv(t, "http://news.test")
	e.login()
	if err := e.store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/account", "/login", "/api/oauth/authorize?client_id=x", "/logout"} {
		if res := e.ask("GET", path, nil); res.StatusCode != http.StatusServiceUnavailable ||
			res.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}

// colorsOf returns the colors that a stylesheet of pages declares for light and dark mode.
func colorsOf(css string) (light, dark map[string]core.Color) {
	root, color := regexp.MustCompile(`:root \{([^}]*)\}`), regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6})`)
	light, dark = map[string]core.Color{"paper": core.White}, map[string]core.Color{}
	for i, part := range strings.Split(css, "@media (prefers-color-scheme: dark) {") {
		inDark := i > 0 && strings.HasPrefix(strings.TrimSpace(part), ":root")
		for _, declared := range root.FindAllString(part, -1) {
			for _, found := range color.FindAllStringSubmatch(declared, -1) {
				if dark[found[1]], _ = core.ParseColor(found[2]); !inDark {
					light[found[1]] = dark[found[1]]
				}
			}
			inDark = false
		}
	}
	return light, dark
}

// Text and buttons are readable with any color that a tenant chooses (WCAG 2.2: 4.5 to 1).
func TestBrandColorsCanBeRead(t *testing.T) {
	e := newPageEnv(t, "http://news.test")
	for _, color := range []string{"ffffff", "000000", "ffcc00", "b4236a", "808080", "00ff00", "0000ff", "nonsense", ""} {
		res := e.ask("GET", "/style.css?color="+color, nil)
		b, err := io.ReadAll(res.Body)
		if err != nil || res.Header.Get("Content-Type") != "text/css; charset=utf-8" {
			t.Fatalf("%s: %s, %v", color, b, err)
		}
		light, dark := colorsOf(string(b))
		for name, at := range map[string]map[string]core.Color{"light": light, "dark": dark} {
			for _, pair := range [][2]string{
				{"on-accent", "accent"}, {"link", "paper"}, {"ink", "paper"}, {"soft", "ground"},
			} {
				if c := at[pair[0]].Contrast(at[pair[1]]); c < 4.5 {
					t.Errorf("%s, %s: %s on %s is %.1f to 1", color, name, pair[0], pair[1], c)
				}
			}
		}
	}
}

// From the sign-in page for a tenant's client, password reset and signup keep the request. Their emails have the
// tenant's design, as do the pages of the links in them, whether the links were used or not.
func TestMailsOfPagesHaveTheLooksOfTheClient(t *testing.T) {
	e := newPageEnv(t, "http://news.test")
	now := core.At(time.Now())
	tenant, err := core.NewTenant(core.TenantInput{Name: new("Acme")}, now)
	if err == nil {
		err = e.store.AddTenant(t.Context(), tenant, "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	client, _, err := core.NewClient(core.ClientInput{
		Name: new("web"), TenantID: &tenant.ID,
		RedirectURIs: &[]string{"https://rp.example/cb"},
	}, true, now)
	if err == nil {
		err = e.store.AddClient(t.Context(), client, "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	request := "/api/oauth/authorize?" + url.Values{
		"client_id": {client.ID}, "redirect_uri": {"https://rp.example/cb"}, "response_type": {"code"},
		"scope":          {"openid"},
		"state":          {`"><b>&a=b`},
		"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, "code_challenge_method": {"S256"},
	}.Encode()
	page := func(path, pattern string) string {
		t.Helper()
		b, err := io.ReadAll(e.ask("GET", path, nil).Body)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(pattern).FindStringSubmatch(string(b))
		if m == nil || !strings.Contains(string(b), "Acme") {
			t.Fatalf("%s: %s", path, b)
		}
		return html.UnescapeString(m[1])
	}
	forgot := page("/login?"+url.Values{"continue": {request}}.Encode(), `href="(/password/forgot\?[^"]*)"`)
	if got := page(forgot, `name="continue" value="([^"]*)"`); got != request {
		t.Errorf("the form carries %s", got)
	}
	if got := page(page(forgot, `href="(/login\?[^"]*)"`), `name="continue" value="([^"]*)"`); got != request {
		t.Errorf("back at the login it is %s", got)
	}
	e.ask("POST", "/password/forgot", url.Values{"email": {"ann@user.example"}, "continue": {request}})
	register := page("/login?"+url.Values{"continue": {request}}.Encode(), `href="(/register\?[^"]*)"`)
	if got := page(register, `name="continue" value="([^"]*)"`); got != request {
		t.Errorf("the form of the registration carries %s", got)
	}
	e.ask("POST", "/register", url.Values{
		"email": {"eve@user.example"}, "password": {"a password of mine"},
		"continue": {request},
	})
	mails, err := e.store.DueMails(t.Context(), core.At(time.Now()), 10)
	var kinds []string
	for _, m := range mails {
		kinds = append(kinds, m.Kind)
		token := e.handler.options.Auth.MailToken(m.Kind, m.TokenID)
		link := map[string]string{core.MailReset: "/password/reset", core.MailVerify: "/verify"}[m.Kind]
		page(link+"?token="+token, "(<form)")
		for _, title := range []string{
			wordsOfPages()["en"].PasswordSetTitle + "|" + wordsOfPages()["en"].VerifiedTitle,
			wordsOfPages()["en"].OverTitle + "|" + wordsOfPages()["en"].VerifiedTitle,
		} {
			res := e.ask("POST", link, url.Values{"token": {token}, "new_password": {"quite another password"}})
			b, err := io.ReadAll(res.Body)
			if err != nil || !regexp.MustCompile(title).Match(b) || !strings.Contains(string(b), "Acme") {
				t.Errorf("%s: no %q in the looks of the tenant: %s", link, title, b)
			}
		}
		if m.TenantID != tenant.ID {
			t.Errorf("%s is for the tenant %q", m.Kind, m.TenantID)
		}
	}
	slices.Sort(kinds)
	if want := []string{core.MailReset, core.MailVerify}; err != nil || !slices.Equal(kinds, want) {
		t.Errorf("%q, %v", kinds, err)
	}
}
