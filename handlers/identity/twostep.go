package identity

import (
	"errors"
	"html/template"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/store/identity"
)

const (
	codePath    = "/login/code"
	twoStepPath = "/account/two-step"
)

// codeForm is the form for the second factor of a sign-in.
type codeForm struct {
	Continue string `form:"continue"`
	Code     string `form:"code" about:"Code from the authenticator app, or a recovery code"`
}

// twoStepView holds the data for the pages that ask for a code, or show an app's key or recovery codes.
type twoStepView struct {
	Client, Continue string
	Email            core.Email
	Action           string         // URL for the form; empty: the account page
	Next             string         // next page after the recovery codes
	Setup            auth.TOTPSetup // for an app that is being set up
	QR               template.HTML
	Recovery         []string // shown once
	Since            string   // time when the factor was set up
	Left             int      // number of unused recovery codes
}

// twoStepRoutes adds the page that asks for a second factor, and the page for setting up two-factor authentication.
func (r *Room) twoStepRoutes(t *web.Table) {
	a, own := authorizations{r.Auth}, r.accountPages()
	t.Add("GET", codePath, web.Public(), web.Page,
		web.Query(web.Visited(a.codePage)), "Show the two-factor page")
	t.Add("POST", codePath, web.Public(), web.Page,
		web.Form(web.Visited(a.code)).Fails(core.Forbidden, core.TooMany), "Sign in with a verification code")
	t.Add("GET", twoStepPath, web.Public(), web.Page,
		web.Query(Proved(r.Auth, own.twoStepPage)), "Show the two-factor authentication page")
	t.Add("POST", twoStepPath, web.Public(), web.Page,
		web.Form(Proved(r.Auth, own.changeTwoStep)).Fails(core.Forbidden), "Update two-factor authentication")
}

// codePage asks for a code after a correct password, or has the user set up an authenticator app.
func (a authorizations) codePage(c *web.Call, in loginQuery) (web.HTML, error) {
	return a.showCode(c, purposeOf(in.Continue), nil)
}

// code completes a sign-in with a second factor. If the request's redirect URI is not trusted, no user is signed in.
func (a authorizations) code(c *web.Call, in codeForm) (web.HTML, error) {
	p := purposeOf(in.Continue)
	if _, err := requested(c, p); err != nil {
		return a.distrustLogin(c, p, err)
	}
	pending, err := auth.ParsePendingSignIn(c.Pending(), c.Now)
	if err != nil {
		return a.showCode(c, p, err)
	}
	browser, device, recovery, err := a.auth.FinishSignIn(c, pending, in.Code, auth.SignInRequest{
		BrowserID: c.BrowserID(), Device: c.Cookie(knownBrowserCookie), Remote: c.Remote, UserAgent: c.UserAgent(),
		Language: c.Language(),
	}, c.Now)
	if err != nil {
		return a.showCode(c, p, err)
	}
	if err := signedIn(c, p, browser, device); err != nil {
		return web.HTML{}, err
	}
	if recovery == nil {
		return web.HTML{To: c.PublicURL() + p.path}, nil
	}
	v, _, err := a.codeView(c, p)
	if err != nil {
		return web.HTML{}, err
	}
	return showRecovery(c, v, recovery, p.path)
}

// codeView returns the page's view with the brand of the client that the user signs in to. It also returns the allowed
// targets of the page's form. Those include the client's origin, because the form leads there directly if the user
// needn't be asked for consent.
func (a authorizations) codeView(c *web.Call, p purpose) (v page.View, targets []string, err error) {
	v = page.View{Brand: page.OwnBrand()}
	request, err := requested(c, p)
	if err == nil && request != nil {
		targets = append(targets, web.SourceOf(request.RedirectURI))
		v.Brand, err = page.ClientBrand(c, &request.Client)
	}
	return v, targets, err
}

func (a authorizations) showCode(c *web.Call, p purpose, fault error) (web.HTML, error) {
	pending, err := auth.ParsePendingSignIn(c.Pending(), c.Now)
	if err != nil {
		if fault != nil {
			return a.showLogin(c, p, "", page.WordsOf(c).FaultOver, web.StatusOf(web.Page, core.Invalid))
		}
		return web.HTML{To: c.PublicURL() + page.LoginPath(p.path)}, nil
	}
	v, targets, err := a.codeView(c, p)
	if err != nil {
		return a.distrustLogin(c, p, err)
	}
	status := 0
	if fault != nil {
		var ok bool
		if v.Fault, status, ok = page.FaultOf(c, fault); !ok {
			return web.HTML{}, fault
		}
	}
	data := twoStepView{Continue: p.path, Email: pending.Email, Action: codePath}
	v.Title = page.WordsOf(c).CodeTitle
	if pending.SetUp {
		v.Title = page.WordsOf(c).TwoStepTitle
		if data.Setup, data.QR, err = newApp(c, a.auth, pending.UserID, pending.Email); err != nil {
			return web.HTML{}, err
		}
	}
	v.Data = data
	return page.Render(c, status, "code", v, targets...)
}

// newApp returns the key of an authenticator app that is being set up, and its QR code.
func newApp(c *web.Call, p *auth.Provider, userID string, email core.Email) (auth.TOTPSetup, template.HTML, error) {
	setup, err := p.NewTOTP(c, userID, email)
	if err != nil {
		return setup, "", err
	}
	picture, err := qrCode(setup.URI)
	return setup, picture, err
}

// showRecovery shows recovery codes, which are never shown again.
func showRecovery(c *web.Call, v page.View, codes []string, next string) (web.HTML, error) {
	v.Title, v.Data = page.WordsOf(c).RecoveryTitle, twoStepView{Recovery: codes, Next: next}
	c.Header().Set("Cache-Control", "no-store")
	return page.Render(c, 0, "recovery", v)
}

// twoStepForm is a form on the page for a user's own two-factor authentication.
type twoStepForm struct {
	Action string `form:"action,required" enum:"begin|confirm|codes|remove" about:"Button that was pressed"`
	Code   string `form:"code" about:"Code from the authenticator app, or a recovery code"`
}

func (a accountPages) twoStepPage(c *web.Call, who core.Visitor, _ struct{}) (web.HTML, error) {
	return a.showTwoStep(c, who, "", nil)
}

// toLogin redirects to the sign-in page if err means that no user is signed in. It returns other errors unchanged.
func toLogin(c *web.Call, err error) (web.HTML, error) {
	if errors.Is(err, core.ErrNotFound) {
		return web.HTML{To: c.PublicURL() + page.LoginPath(page.AccountPath)}, nil
	}
	return web.HTML{}, err
}

// changeTwoStep performs the pressed button's action.
func (a accountPages) changeTwoStep(c *web.Call, who core.Visitor, in twoStepForm) (web.HTML, error) {
	var recovery []string
	var err error
	notice, look := "", core.MailStyle{Language: c.Language()}
	switch in.Action {
	case "begin":
		err = a.auth.SetUpTOTP(c, who.User, c.Now)
	case "confirm":
		recovery, err = a.auth.ConfirmTOTP(c, who.User, in.Code, look, c.Now)
	case "codes":
		recovery, err = a.auth.RenewRecoveryCodes(c, who.User.ID, look, c.Now)
	case "remove":
		err, notice = c.Store().RemoveSecondFactor(c, who.User.ID, look, c.Now), page.WordsOf(c).DidTwoStepOff
	}
	if errors.Is(err, core.ErrNotFound) || errors.Is(err, identity.ErrFactorSet) {
		err, notice = nil, "" // done in another window: the page shows the current state
	}
	if err != nil {
		return a.showTwoStep(c, who, "", err)
	}
	if recovery != nil {
		return showRecovery(c, page.View{Brand: page.OwnBrand()}, recovery, page.AccountPath)
	}
	return a.showTwoStep(c, who, notice, nil)
}

func (a accountPages) showTwoStep(c *web.Call, who core.Visitor, notice string, fault error) (web.HTML, error) {
	w := page.WordsOf(c)
	v := page.View{Title: w.TwoStepTitle, Notice: notice, Brand: page.OwnBrand()}
	status, err := v.Blame(c, fault)
	if err != nil {
		return web.HTML{}, err
	}
	factor, err1 := c.Store().SecondFactor(c, who.User.ID)
	when, err2 := a.times(c, who)
	if err := errors.Join(err1, err2); err != nil {
		return web.HTML{}, err
	}
	data := twoStepView{Email: who.User.Email, Left: factor.RecoveryCodes}
	if factor.Set() {
		data.Since = when(factor.TOTPAt)
	} else if data.Setup, data.QR, err = newApp(c, a.auth, who.User.ID, who.User.Email); err != nil &&
		!errors.Is(err, core.ErrNotFound) {
		return web.HTML{}, err
	}
	v.Data = data
	return page.Render(c, status, "twostep", v)
}
