package identity

import (
	"cmp"
	"errors"
	"html/template"
	"strings"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/store/identity"
)

// accountPages serves the account page of the signed-in user.
type accountPages struct {
	auth *auth.Provider
	page func(c *web.Call, who core.Visitor, status int, v *page.View) (web.HTML, error) // Room.ShowAccount
	zone func(c *web.Call, who core.Visitor) (*time.Location, error)                     // Room.ZoneOf
}

func (r *Room) accountPages() accountPages { return accountPages{r.Auth, r.ShowAccount, r.ZoneOf} }

// times returns a function that formats instants for a user, in the page's language.
func (a accountPages) times(c *web.Call, who core.Visitor) (when func(core.Instant) string, err error) {
	zone, err := a.zone(c, who)
	w := page.WordsOf(c)
	return func(at core.Instant) string { return w.When(at, zone) }, err
}

// accountRow is a browser, a sign-in or a consent on the account page.
type accountRow struct {
	ID, Name, Where string
	Here            bool
}

type accountView struct {
	Name                       string
	Language                   string // chosen; empty: the browser's
	Email                      core.Email
	Verified                   bool
	Change                     core.Email // new address that is not confirmed yet
	ChangeUntil                string
	Typed                      string // input in a form that was refused
	Wrong                      string // see wrong
	TwoStep                    string // time when the second factor was set up; empty: there is none
	Recovery                   int    // number of unused recovery codes
	Passkeys                   string // number of passkeys
	NoPasskeys                 string // why passkeys are unavailable; empty: they are available
	Proved                     bool   // the user has just used a passkey, so no password is required
	MayProve                   bool   // the user can use a passkey instead of the password
	Created                    string // clients that the user created or changed and may disable
	Browsers, SignIns, Allowed []accountRow

	W      *page.Words
	Opened string // action of a form that was refused, which stays open
}

// Fill replaces the placeholders in text. pairs contains alternating names and values.
func (*accountView) Fill(text string, pairs ...any) string { return page.FillIn(text, pairs...) }

// Strong is like Fill, but returns HTML with emphasized values.
func (*accountView) Strong(text string, pairs ...any) template.HTML {
	return page.Strong(text, pairs...)
}

// accountPageRoutes adds the account page.
func (r *Room) accountPageRoutes(t *web.Table) {
	own := r.accountPages()
	t.Add("GET", "/account", web.Public(), web.Page, web.Query(web.Visited(own.account)), "Show the account page")
	t.Add("POST", "/account", web.Public(), web.Page,
		web.Form(web.Visited(own.change)).Fails(core.Forbidden), "Update the account")
}

func (a accountPages) account(c *web.Call, _ struct{}) (web.HTML, error) {
	return a.show(c, "", accountForm{}, nil)
}

// show shows the page to a signed-in user, and the sign-in page to other visitors. sent is the form that caused fault.
func (a accountPages) show(c *web.Call, notice string, sent accountForm, fault error) (web.HTML, error) {
	who, err := c.SignedIn()
	if err != nil {
		return toLogin(c, err)
	}
	w := page.WordsOf(c)
	var v page.View
	status, err := v.Blame(c, fault)
	if err != nil {
		return web.HTML{}, err
	}
	s := c.Store()
	browsers, err1 := s.Browsers(c, who.User.ID, c.Now)
	signIns, err2 := s.SignIns(c, who.User.ID, c.Now)
	allowed, err3 := s.Allowances(c, who.User.ID)
	change, err4 := s.EmailChange(c, who.User.ID, c.Now)
	if errors.Is(err4, core.ErrNotFound) {
		err4 = nil
	}
	factor, err5 := s.SecondFactor(c, who.User.ID)
	keys, err6 := s.Passkeys(c, who.User.ID)
	created, err7 := ownClients(c, who.User)
	when, err8 := a.times(c, who)
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8); err != nil {
		return web.HTML{}, err
	}
	data := accountView{
		W: w, Opened: sent.Action,
		Name: who.User.Name, Language: who.User.Language, Email: who.User.Email, Verified: who.User.EmailVerified,
		Change:      change.Email,
		ChangeUntil: when(change.ExpiresAt), Typed: web.Truncate(sent.Email, maxShown), Wrong: sent.wrong(fault),
		Passkeys: w.PasskeyCount(keys), NoPasskeys: w.PasskeysMissing(a.auth),
		Created: created,
		Proved:  auth.ProvedByPasskey(who.Browser, c.Now), MayProve: len(keys) > 0 && a.auth.PasskeysMissing() == "",
	}
	if factor.Set() {
		data.TwoStep, data.Recovery = when(factor.TOTPAt), factor.RecoveryCodes
	}
	for _, b := range browsers {
		data.Browsers = append(data.Browsers, accountRow{
			b.ID, w.BrowserName(b.UserAgent), joined(b.Remote, page.FillIn(w.SignedInAt, "when", when(b.AuthAt)),
				w.Ago(c.Now, b.UsedAt)), b.ID == who.Browser.ID,
		})
	}
	for _, f := range signIns {
		data.SignIns = append(data.SignIns, accountRow{
			ID: f.ID, Name: f.ClientName, Where: joined(w.BrowserName(f.UserAgent), f.Remote,
				page.FillIn(w.Since, "when", when(f.CreatedAt)), w.Ago(c.Now, f.UsedAt)),
		})
	}
	for _, al := range allowed {
		data.Allowed = append(data.Allowed, accountRow{
			ID: al.ClientID, Name: al.ClientName,
			Where: w.AllowsTo(al.Scope),
		})
	}
	v.Title, v.Notice, v.Lang, v.Data = w.AccountTitle, notice, cmp.Or(page.StyleOf(c).Lang, core.Languages[0]), &data
	return a.page(c, who, status, &v)
}

func joined(parts ...string) string {
	return strings.Join(strings.FieldsFunc(strings.Join(parts, "\n"), func(r rune) bool { return r == '\n' }), " · ")
}

type accountForm struct {
	Action   string `form:"action,required" enum:"name|language|email|keep|verify|password|browser|signin|disallow|everywhere" about:"Button that was pressed"`
	ID       string `form:"id"`
	Name     string `form:"name"`
	Language string `form:"language" about:"Language of pages and account emails; empty: the browser's"`
	Email    string `form:"email"`
	Password string `form:"password"`
	New      string `form:"new_password"`
	Clients  string `form:"disable_clients" about:"1: also disable API clients and webhook endpoints that the user created or changed"`
}

// wrong returns the form field that an error refers to, as the form's action, a dot and the field's name. If the error
// refers to no field, it returns an empty string.
func (in *accountForm) wrong(fault error) string {
	e, is := errors.AsType[*core.Error](fault)
	switch {
	case errors.Is(fault, auth.ErrBadCredentials):
		return in.Action + ".password"
	case is && e.Kind == core.Invalid:
		return in.Action + "." + e.Field
	}
	return ""
}

// change performs the pressed button's action and shows the page again.
func (a accountPages) change(c *web.Call, in accountForm) (web.HTML, error) {
	who, err := c.SignedIn()
	if err != nil {
		return toLogin(c, err)
	}
	do, notice := a.action(c, in, who)
	if err = do(); errors.Is(err, core.ErrNotFound) {
		err = nil // the sign-in has already ended
	}
	if err != nil {
		return a.show(c, "", in, err)
	}
	if in.Action == "everywhere" || (in.Action == "browser" && in.ID == who.Browser.ID) {
		if err := c.EndSession(); err != nil {
			return web.HTML{}, err
		}
		return web.HTML{To: c.PublicURL() + "/login"}, nil
	}
	if in.Action == "language" {
		return web.HTML{To: c.PublicURL() + "/account"}, nil // the page in the new language
	}
	return a.show(c, notice, accountForm{}, nil)
}

func (a accountPages) action(c *web.Call, in accountForm, who core.Visitor) (do func() error, notice string) {
	s, user, w := c.Store(), who.User.ID, page.WordsOf(c)
	switch in.Action {
	case "name":
		return func() error {
			_, err := s.UpdateUser(c, user, identity.UserInput{Name: &in.Name}, c.Now)
			return err
		}, w.DidName
	case "language":
		return func() error {
			_, err := s.UpdateUser(c, user, identity.UserInput{Language: &in.Language}, c.Now)
			return err
		}, ""
	case "verify":
		return func() error { return a.auth.VerifyAgain(c, who.User, c.Language(), c.Now) }, w.DidVerify
	case "email":
		return func() error {
			email, err := core.ParseEmail(in.Email)
			if err != nil {
				return err
			}
			return a.auth.AskEmailChange(c, who, auth.EmailChangeRequest{
				Email: email, Password: in.Password, Remote: c.Remote, Device: c.Cookie(knownBrowserCookie),
				Language: c.Language(),
			}, c.Now)
		}, w.DidEmail
	case "keep":
		return func() error { return s.DropEmailChange(c, user) }, w.DidKeep
	case "password":
		return func() error {
			err := a.auth.ChangePassword(c, who, in.Password, in.New, c.Remote, c.Cookie(knownBrowserCookie), c.Now)
			if err != nil {
				return err
			}
			return endOwnClients(c, who.User, in.Clients)
		}, w.DidPassword
	case "browser":
		return func() error { return s.SignOutBrowser(c, in.ID, user, c.Now) }, w.DidBrowser
	case "signin":
		return func() error { return s.EndFamily(c, in.ID, user, c.Now) }, w.DidProgram
	case "disallow":
		return func() error { return s.Disallow(c, user, in.ID, c.Now) }, w.DidDisallow
	}
	return func() error {
		if err := endOwnClients(c, who.User, in.Clients); err != nil {
			return err
		}
		return s.LogoutEverywhere(c, user, c.Now)
	}, ""
}
