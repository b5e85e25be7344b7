package identity

import (
	_ "embed"
	"errors"
	"strings"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

const passkeysPath = "/account/passkeys"

// passkeyCookie holds a secret that binds passkey challenges to the browser.
const (
	passkeyCookie    = "newsletterd-passkey"
	passkeyCookieTTL = 24 * time.Hour
)

//go:embed passkey.js
var passkeyJS string

// passkeyScript asks the browser for passkeys.
var passkeyScript = page.Script{Path: "/passkey.js", Body: passkeyJS}

// passkeyRoutes adds sign-in with a passkey, and the page that adds, renames and removes passkeys.
func (r *Room) passkeyRoutes(t *web.Table) {
	a, own := authorizations{r.Auth}, r.accountPages()
	t.Add("GET", "/passkey.js", web.Public(), web.Page, web.Query(passkeyScript.Serve).Answers("text/javascript"),
		"Script for passkeys")
	t.Add("POST", "/login/passkey", web.Public(), web.Page,
		web.Form(web.Visited(a.passkey)).Fails(core.Forbidden, core.TooMany), "Sign in with a passkey")
	t.Add("GET", passkeysPath, web.Public(), web.Page,
		web.Query(Proved(r.Auth, own.passkeysPage)), "Show the passkey page")
	t.Add("POST", passkeysPath, web.Public(), web.Page,
		web.Form(Proved(r.Auth, own.changePasskeys)).Fails(core.Forbidden), "Add, rename or remove a passkey")
}

// passkeyBrowser returns the browser's secret. If the browser has none, it creates one.
func passkeyBrowser(c *web.Call) string {
	secret := c.Cookie(passkeyCookie)
	if secret == "" {
		secret = core.NewToken()
		c.SetCookie(passkeyCookie, secret, c.Now.Time().Add(passkeyCookieTTL))
	}
	return secret
}

// passkeyOptions returns the options for a page that requests a passkey, or an empty string if passkeys are
// unavailable. If userID is set, the options are for reauthenticating that user, who must have a passkey.
func passkeyOptions(c *web.Call, p *auth.Provider, userID string) (string, error) {
	if p.PasskeysMissing() != "" {
		return "", nil
	}
	if userID != "" {
		keys, err := c.Store().Passkeys(c, userID)
		if err != nil || len(keys) == 0 {
			return "", err
		}
	}
	return p.PasskeyOptions(passkeyBrowser(c), userID, c.Now)
}

// passkeyForm is a browser's response to a challenge from the sign-in page.
type passkeyForm struct {
	Continue string `form:"continue"`
	Response string `form:"response"`
}

// passkey signs a browser in with a passkey. If the request's redirect URI is not trusted, no user is signed in.
func (a authorizations) passkey(c *web.Call, in passkeyForm) (web.HTML, error) {
	p := purposeOf(in.Continue)
	if _, err := requested(c, p); err != nil {
		return a.distrustLogin(c, p, err)
	}
	browser, device, err := a.auth.SignInByPasskey(c, auth.PasskeyAnswer{
		Browser: c.Cookie(passkeyCookie), Response: in.Response,
	}, auth.SignInRequest{
		BrowserID: c.BrowserID(), Device: c.Cookie(knownBrowserCookie), Remote: c.Remote, UserAgent: c.UserAgent(),
	}, c.Now)
	if err != nil {
		text, status, ok := page.FaultOf(c, err)
		if !ok {
			return web.HTML{}, err
		}
		return a.showLogin(c, p, "", text, status)
	}
	if err := signedIn(c, p, browser, device); err != nil {
		return web.HTML{}, err
	}
	return web.HTML{To: c.PublicURL() + p.path}, nil
}

// passkeysForm is a form on the page for a user's own passkeys.
type passkeysForm struct {
	Action   string `form:"action,required" enum:"add|rename|remove" about:"Button that was pressed"`
	ID       string `form:"id"`
	Name     string `form:"name"`
	Response string `form:"response"`
}

func (a accountPages) passkeysPage(c *web.Call, who core.Visitor, _ struct{}) (web.HTML, error) {
	return a.showPasskeys(c, who, "", nil)
}

// changePasskeys performs the pressed button's action.
func (a accountPages) changePasskeys(c *web.Call, who core.Visitor, in passkeysForm) (web.HTML, error) {
	w, name := page.WordsOf(c), strings.TrimSpace(in.Name)
	var err error
	notice := ""
	switch in.Action {
	case "add":
		err, notice = a.auth.AddPasskey(c, who, auth.NewPasskey{
			Name: name, Browser: c.Cookie(passkeyCookie), Response: in.Response, Language: c.Language(),
		}, c.Now), w.DidPasskeyAdd
	case "rename":
		err, notice = c.Store().RenamePasskey(c, who.User.ID, in.ID, name, c.Now), w.DidPasskeyRename
	case "remove":
		err, notice = c.Store().RemovePasskey(c, who.User.ID, in.ID, core.MailStyle{Language: c.Language()}, c.Now),
			w.DidPasskeyRemove
	}
	if errors.Is(err, core.ErrNotFound) {
		err, notice = nil, "" // removed in another window: the page shows the current state
	}
	return a.showPasskeys(c, who, notice, err)
}

func (a accountPages) showPasskeys(c *web.Call, who core.Visitor, notice string, fault error) (web.HTML, error) {
	w := page.WordsOf(c)
	v := page.View{Title: w.PasskeysTitle, Brand: page.OwnBrand()}
	status, err := v.Blame(c, fault)
	if err != nil {
		return web.HTML{}, err
	}
	if fault == nil {
		v.Notice = notice
	}
	keys, err1 := c.Store().Passkeys(c, who.User.ID)
	when, err2 := a.times(c, who)
	if err := errors.Join(err1, err2); err != nil {
		return web.HTML{}, err
	}
	data := struct {
		Rows                        []accountRow
		Missing, Options, Suggested string
	}{Missing: w.PasskeysMissing(a.auth), Suggested: w.BrowserName(c.UserAgent())}
	for _, k := range keys {
		used := w.PasskeyUnused
		if k.UsedAt != 0 {
			used = w.Ago(c.Now, k.UsedAt)
		}
		data.Rows = append(data.Rows, accountRow{
			ID: k.ID, Name: k.Name, Where: joined(page.FillIn(w.Since, "when", when(k.CreatedAt)), used),
		})
	}
	if !who.User.EmailVerified && data.Missing == "" {
		data.Missing = w.FaultUnverified
	}
	if data.Missing == "" {
		if data.Options, err = a.auth.NewPasskeyOptions(c, who.User, passkeyBrowser(c), c.Now); err != nil {
			return web.HTML{}, err
		}
		v.Script = passkeyScript.Address()
	}
	v.Data = data
	return page.Render(c, status, "passkeys", v)
}
