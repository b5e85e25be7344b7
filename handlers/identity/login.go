package identity

import (
	"errors"
	"net/url"
	pathpkg "path"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

// The cookie of a browser in which a user has signed in before.
const (
	knownBrowserCookie = "newsletterd-device"
	knownBrowserTTL    = 90 * 24 * time.Hour
)

// loginRoutes adds the sign-in page.
func (r *Room) loginRoutes(t *web.Table) {
	a := authorizations{r.Auth}
	t.Add("GET", "/login", web.Public(), web.Page, web.Query(web.Visited(a.loginPage)), "Show the sign-in page")
	t.Add("POST", "/login", web.Public(), web.Page,
		web.Form(web.Visited(a.login)).Fails(core.Forbidden, core.TooMany), "Sign in")
}

type loginQuery struct {
	Continue string `query:"continue"`
}

type loginForm struct {
	Continue string `form:"continue"`
	Email    string `form:"email"`
	Password string `form:"password"`
}

// purpose is the reason for a sign-in: an account or console page, an authorization request, an emailed link, an
// invitation or a review. Any other value of the continue parameter counts as the start page of the console, so a
// sign-in can't lead to other sites.
type purpose struct {
	path    string     // with query
	request url.Values // parameters of an authorization request; nil: none
}

func purposeOf(continueTo string) purpose {
	if raw, ok := strings.CutPrefix(continueTo, authorizePath+"?"); ok {
		if q, err := url.ParseQuery(raw); err == nil {
			return purpose{authorizePath + "?" + q.Encode(), q}
		}
	}
	if raw, ok := strings.CutPrefix(continueTo, verifyPath+"?"); ok {
		if q, err := url.ParseQuery(raw); err == nil {
			kept := url.Values{"token": {q.Get("token")}}
			if email := q.Get("email"); email != "" {
				kept.Set("email", email)
			}
			return purpose{path: verifyPath + "?" + kept.Encode()}
		}
	}
	if raw, ok := strings.CutPrefix(continueTo, page.ReviewPath+"?"); ok {
		if q, err := url.ParseQuery(raw); err == nil {
			return purpose{path: (&page.ReviewLink{
				Campaign: q.Get("campaign"), Mend: q.Get("mend"), Open: q.Get("open"),
			}).Path()}
		}
	}
	if raw, ok := strings.CutPrefix(continueTo, invitationPath+"?"); ok {
		if q, err := url.ParseQuery(raw); err == nil {
			return purpose{path: (&invitationQuery{q.Get("token"), q.Get("ui_locales")}).address()}
		}
	}
	if p := (purpose{path: continueTo}); p.asksProof() || p.inConsole() || p.path == page.AccountPath {
		return p
	}
	return purpose{path: page.ConsolePath} // redirects users without a role to their account
}

// inConsole reports whether the purpose is a console page.
func (p purpose) inConsole() bool {
	path, _, _ := strings.Cut(p.path, "?")
	return slices.ContainsFunc([]string{page.ConsolePath, page.OperatorPath, page.OwnPath}, func(root string) bool {
		return path == root || strings.HasPrefix(path, root+"/")
	}) && pathpkg.Clean(path) == path &&
		!strings.ContainsFunc(p.path, unicode.IsControl) && !strings.ContainsAny(p.path, "\\#")
}

// takesForms reports whether a form that was sent to the page is resubmitted after the user reauthenticates.
func (p purpose) takesForms() bool {
	return p.asksProof() || p.inConsole() && p.path != page.ConsolePath
}

// asksProof reports whether the page requires users to reauthenticate.
func (p purpose) asksProof() bool {
	return p.path == passkeysPath || p.path == twoStepPath || p.path == page.ReviewPath
}

// asContinue returns the query that makes another page return to this one.
func (p purpose) asContinue() string { return "?" + url.Values{"continue": {p.path}}.Encode() }

// asQuery returns the query that passes the authorization request on to another page, or an empty string if there is
// none.
func (p purpose) asQuery() string {
	if p.request == nil {
		return ""
	}
	return p.asContinue()
}

func (a authorizations) loginPage(c *web.Call, in loginQuery) (web.HTML, error) {
	p := purposeOf(in.Continue)
	return a.showLogin(c, p, p.request.Get("login_hint"), "", 0)
}

// login signs a browser in. The response is the same for an unknown address and for a wrong password. If the request's
// redirect URI is not trusted, no user is signed in.
func (a authorizations) login(c *web.Call, in loginForm) (web.HTML, error) {
	p := purposeOf(in.Continue)
	if _, err := requested(c, p); err != nil {
		return a.distrustLogin(c, p, err)
	}
	html, err := signIn(c, a.auth, p, in.Email, in.Password)
	if err != nil {
		text, status, ok := page.FaultOf(c, err)
		if !ok {
			return web.HTML{}, err
		}
		return a.showLogin(c, p, in.Email, text, status)
	}
	return html, nil
}

// signIn signs a browser in with a password. It then redirects to the purpose, or to the page that asks for
// a code if two-factor authentication is required.
func signIn(c *web.Call, p *auth.Provider, to purpose, email, password string) (web.HTML, error) {
	browser, device, err := p.SignIn(c, auth.SignInRequest{
		Email: email, Password: password, BrowserID: c.BrowserID(), Device: c.Cookie(knownBrowserCookie),
		Remote: c.Remote, UserAgent: c.UserAgent(),
	}, c.Now)
	if needed, ok := errors.AsType[*auth.FactorNeeded](err); ok {
		if err := c.SetPending(needed.Pending.Text()); err != nil {
			return web.HTML{}, err
		}
		return web.HTML{To: c.PublicURL() + codePath + to.asContinue()}, nil
	}
	if err == nil {
		err = signedIn(c, to, browser, device)
	}
	return web.HTML{To: c.PublicURL() + to.path}, err
}

// signedIn starts a session for the signed-in user and sets the cookie that makes this a known browser.
func signedIn(c *web.Call, p purpose, browser core.Browser, device string) error {
	if err := c.SignIn(browser, p.request); err != nil {
		return err
	}
	c.SetCookie(knownBrowserCookie, device, c.Now.Time().Add(knownBrowserTTL))
	return nil
}

// showLogin shows the form with the brand of the client that the user signs in to.
func (a authorizations) showLogin(c *web.Call, p purpose, email, fault string, status int) (web.HTML, error) {
	v := page.View{Fault: fault, Brand: page.OwnBrand()}
	data := struct {
		Client, Continue, Email, Forgot string
		Options                         string // of passkeys; empty: passkeys are unavailable
		SignUp                          bool
		Wrong                           bool // the entered data was wrong
	}{
		Continue: p.path, Email: web.Truncate(email, maxShown), Forgot: p.asQuery(), SignUp: !a.auth.ClosedRegistration,
		Wrong: fault == page.WordsOf(c).FaultCredentials,
	}
	var targets []string
	if p.request != nil {
		request, err := requested(c, p)
		if err != nil {
			return a.distrustLogin(c, p, err)
		}
		if v.Brand, err = page.ClientBrand(c, &request.Client); err != nil {
			return web.HTML{}, err
		}
		data.Client = request.Client.Name
		targets = append(targets, web.SourceOf(request.RedirectURI))
	}
	var err error
	if data.Options, err = passkeyOptions(c, a.auth, ""); err != nil {
		return web.HTML{}, err
	}
	if data.Options != "" {
		v.Script = passkeyScript.Address()
	}
	v.Title, v.Data = page.WordsOf(c).SignIn, data
	return page.Render(c, status, "login", v, targets...)
}

// requested returns the authorization request that a sign-in is for, or nil if it has a different purpose. If the
// redirect URI is trusted, the client learns about errors in the request, but only after the sign-in.
func requested(c *web.Call, p purpose) (*auth.Authorization, error) {
	if p.request == nil {
		return nil, nil
	}
	request, err := auth.ParseAuthorization(p.request,
		func(id string) (core.Client, error) { return c.Store().Client(c, id) })
	if e, ok := errors.AsType[*auth.AuthorizeError](err); ok && e.Request != nil {
		return e.Request, nil
	}
	return request, err
}

// distrustLogin shows an error page for a sign-in whose authorization request is invalid.
func (a authorizations) distrustLogin(c *web.Call, p purpose, err error) (web.HTML, error) {
	if e, ok := errors.AsType[*auth.AuthorizeError](err); ok {
		return a.distrust(c, p.request, e)
	}
	return web.HTML{}, err
}

// logouts serves the sign-out page, and the endpoint to which relying parties send their users.
type logouts struct{ auth *auth.Provider }

// logoutRoutes adds the sign-out page, and the endpoint to which relying parties send their users.
func (r *Room) logoutRoutes(t *web.Table) {
	l := logouts{r.Auth}
	t.Add("GET", "/logout", web.Public(), web.Page, web.Query(web.Visited(l.page)), "Show the sign-out page")
	t.Add("POST", "/logout", web.Public(), web.Page,
		web.Form(web.Visited(l.confirmed)).Fails(core.Forbidden), "Sign out")
	t.Add("GET", "/api/oauth/logout", web.Public(), web.Page,
		web.Query(web.Visited(l.relyingParty)).Changes().DescribesQuery(reflect.TypeFor[logoutQuery]()).
			Fails(core.Invalid),
		"Sign a user out of a connected app (RP-Initiated Logout)").Named("endSession")
	t.Add("POST", "/api/oauth/logout", web.Public(), web.Page,
		web.Raw(l.relyingPartyPost).MaxBody(web.MaxForm).DescribesMedia("application/x-www-form-urlencoded").
			Fails(core.Invalid),
		"Sign a user out with a form; redirects to GET").Named("endSessionByForm")
}

func (l logouts) page(c *web.Call, _ struct{}) (web.HTML, error) {
	return l.logout(c, url.Values{}, false)
}

// relyingParty implements OpenID Connect RP-Initiated Logout 1.0 section 2.
func (l logouts) relyingParty(c *web.Call, _ struct{}) (web.HTML, error) {
	q, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return web.HTML{}, core.Invalidf("", "The parameters are malformed. Check the URL encoding.").With(err)
	}
	return l.logout(c, q, false)
}

func (l logouts) relyingPartyPost(c *web.Call, body []byte) (web.HTML, error) {
	return again(c, "/api"+auth.PathLogout, body)
}

type logoutForm struct {
	Request string `form:"request" about:"Parameters of the logout request, as a query string"`
}

func (l logouts) confirmed(c *web.Call, in logoutForm) (web.HTML, error) {
	q, err := url.ParseQuery(in.Request)
	if err != nil {
		return web.HTML{}, core.Invalidf("request", "The request is malformed. Go back and start again.").With(err)
	}
	return l.logout(c, q, true)
}

func (l logouts) logout(c *web.Call, q url.Values, confirmed bool) (web.HTML, error) {
	reply, err := l.auth.RPLogout(c, auth.LogoutRequest{Query: q, BrowserID: c.BrowserID(), Confirmed: confirmed}, c.Now)
	if e, ok := errors.AsType[*auth.LogoutError](err); ok {
		c.LogError(e)
		return page.Render(c, 400, "message", page.View{
			Title: page.WordsOf(c).LogoutFaultTitle, RequestID: c.RequestID,
			Data: page.Note{
				Lines: []string{e.Description}, Details: [][2]string{{"Parameter", e.Parameter}}, Link: "/logout",
				LinkText: page.WordsOf(c).SignOutHere,
			},
		})
	}
	if err != nil {
		return web.HTML{}, err
	}
	b, name := page.OwnBrand(), ""
	var targets []string
	if reply.Client != nil {
		name = reply.Client.Name
		if b, err = page.BrandOf(c, reply.Client.TenantID); err != nil {
			return web.HTML{}, err
		}
	}
	if !reply.Done {
		if reply.Location != "" {
			targets = append(targets, web.SourceOf(reply.Location))
		}
		return page.Render(c, 0, "logout", page.View{Title: page.WordsOf(c).LogoutTitle, Brand: b, Data: struct {
			Client, Request string
			Email           core.Email
		}{name, q.Encode(), reply.User.Email}}, targets...)
	}
	if err := c.EndSession(); err != nil {
		return web.HTML{}, err
	}
	if reply.Location != "" {
		return web.HTML{To: reply.Location}, nil
	}
	w := page.WordsOf(c)
	return page.RenderMessage(c, 0, w.SignedOutTitle,
		page.Note{Lines: []string{w.SignedOutText}, Link: "/login", LinkText: w.SignInAgain}, b)
}
