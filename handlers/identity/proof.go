package identity

import (
	"errors"
	"html/template"
	"maps"
	"net/url"
	"slices"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

// proofPath is the path of the page where signed-in users reauthenticate. It returns to the page in the continue query
// parameter.
const proofPath = "/login/confirm"

// proofRoutes adds the page where users reauthenticate.
func (r *Room) proofRoutes(t *web.Table) {
	own := r.accountPages()
	t.Add("GET", proofPath, web.Public(), web.Page,
		web.Query(web.Visited(own.provePage)), "Show the page to confirm it's you")
	t.Add("POST", proofPath, web.Public(), web.Page,
		web.Form(web.Visited(own.prove)).Fails(core.Forbidden, core.TooMany).MaxBody(64*web.KiB), "Confirm it's you")
}

// Proved wraps the function of a page that requires recent reauthentication (core.ProofAge), with a second factor if
// the user has one. Other users reauthenticate first. Afterwards, the page is shown or their form is resubmitted.
func Proved[In any](p *auth.Provider, fn func(*web.Call, core.Visitor, In) (web.HTML, error)) func(*web.Call, In) (
	web.HTML, error,
) {
	return web.Visited(func(c *web.Call, in In) (web.HTML, error) {
		here := purposeOf(c.Request.URL.Path)
		who, err := c.SignedIn()
		if errors.Is(err, core.ErrNotFound) {
			return web.HTML{To: c.PublicURL() + page.LoginPath(here.path)}, nil
		}
		if err != nil {
			return web.HTML{}, err
		}
		factors, err := p.Factors(c, who.User.ID)
		switch {
		case err != nil:
			return web.HTML{}, err
		case factors.Proved(who.Browser, c.Now):
			return fn(c, who, in)
		case c.Request.Method == "POST":
			return accountPages{auth: p}.showProof(c, who, here, proofForm{Form: string(c.Body())}, nil)
		}
		return web.HTML{To: c.PublicURL() + proofPath + here.asContinue()}, nil
	})
}

// ShowProof renders the page that asks a user to reauthenticate. Afterwards, the page leads to path, or posts form
// there if form is not empty. step is the name of the next step in the user's language, or empty. back is the console
// page to return to on cancel.
func ShowProof(c *web.Call, p *auth.Provider, who core.Visitor, path, form, step, back string) (web.HTML, error) {
	in := proofForm{Form: form, Step: step, Back: back}
	return accountPages{auth: p}.showProof(c, who, purposeOf(path), in, nil)
}

// proofForm is a form for reauthenticating with a password or a passkey.
type proofForm struct {
	Continue string `form:"continue"`
	Form     string `form:"form" about:"Form to submit afterwards, as a query string; empty: none"`
	Step     string `form:"step" about:"Name of the next step, shown on the page; empty: none"`
	Back     string `form:"back" about:"Page of the console for users who cancel; empty: none"`
	Password string `form:"password"`
	Code     string `form:"code" about:"Code from the authenticator app, or a recovery code"`
	Response string `form:"response"`
}

func (a accountPages) provePage(c *web.Call, in loginQuery) (web.HTML, error) {
	who, err := c.SignedIn()
	if err != nil {
		return toLogin(c, err)
	}
	return a.showProof(c, who, purposeOf(in.Continue), proofForm{}, nil)
}

// prove records that the user has reauthenticated, and redirects to the page that required it.
func (a accountPages) prove(c *web.Call, in proofForm) (web.HTML, error) {
	who, err := c.SignedIn()
	if err != nil {
		return toLogin(c, err)
	}
	p := purposeOf(in.Continue)
	if in.Response != "" {
		answer := auth.PasskeyAnswer{Browser: c.Cookie(passkeyCookie), Response: in.Response}
		err = a.auth.ProveByPasskey(c, who, answer, c.Remote, c.Now)
	} else {
		err = a.auth.ProveByPassword(c, who, auth.PasswordProof{
			Password: in.Password, Code: in.Code, Remote: c.Remote, Device: c.Cookie(knownBrowserCookie),
		}, c.Now)
	}
	if errors.Is(err, core.ErrNotFound) {
		return toLogin(c, err) // signed out in the meantime
	}
	if err != nil {
		return a.showProof(c, who, p, in, err)
	}
	if in.Form != "" && p.takesForms() {
		return sendOn(c, p, in.Form)
	}
	return web.HTML{To: c.PublicURL() + p.path}, nil
}

// sendOn returns a page that resubmits a form to its original page. It uses a script, or a button without scripts.
func sendOn(c *web.Call, p purpose, form string) (web.HTML, error) {
	values, err := url.ParseQuery(form)
	if err != nil {
		return web.HTML{}, core.Invalidf("form", "The parameters are malformed. Check the URL encoding.").With(err)
	}
	var fields [][2]string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fields = append(fields, [2]string{name, values.Get(name)})
	}
	return renderPost(c, "", p.path, fields, page.OwnBrand())
}

// renderPost returns a page whose form sends fields to a URL, automatically if scripts run. client is the name of the
// client with that URL; empty: this server.
func renderPost(c *web.Call, client, address string, fields [][2]string, b page.Brand) (web.HTML, error) {
	v := page.View{Title: page.WordsOf(c).PostTitle, Brand: b, Data: struct {
		Client string
		Action template.URL
		Fields [][2]string
		Script template.HTML
	}{
		//nolint:gosec // the caller has checked the address
		client, template.URL(address), fields, template.HTML("<script>" + submitScript + "</script>"),
	}}
	v.Style = page.StyleOf(c)
	var targets []string
	if client != "" {
		targets = append(targets, web.SourceOf(address))
	}
	c.PageHeaders(b.Source(), submitScriptHash, targets...)
	return page.Fill(0, "post", v)
}

// maxStep is the maximum length of a step's name in bytes. Longer names are not shown.
const maxStep = 500

// showProof renders the page that asks a user to reauthenticate. in holds the form to submit afterwards and the name of
// the step.
func (a accountPages) showProof(c *web.Call, who core.Visitor, p purpose, in proofForm, fault error) (web.HTML, error) {
	if len(in.Step) > maxStep {
		in.Step = ""
	}
	v := page.View{Title: page.WordsOf(c).ProveTitle, Brand: page.OwnBrand()}
	status, err := v.Blame(c, fault)
	if err != nil {
		return web.HTML{}, err
	}
	factors, err := a.auth.Factors(c, who.User.ID)
	if err != nil {
		return web.HTML{}, err
	}
	data := struct {
		Continue, Form           string
		Step, Back               string
		Options                  string
		Email                    core.Email
		Code, ByPasskey          bool // a code is required, too: a password is not enough
		WrongPassword, WrongCode bool
	}{
		Continue: p.path, Form: in.Form, Step: in.Step, Email: who.User.Email, Code: factors.App,
		WrongPassword: fault == error(auth.ErrBadCredentials), WrongCode: fault == error(auth.ErrBadCode),
		ByPasskey: factors.Passkey && !factors.App && (p.takesForms() || a.auth.Demands(&who.User)),
	}
	if data.Options, err = passkeyOptions(c, a.auth, who.User.ID); err != nil {
		return web.HTML{}, err
	}
	if data.Options != "" {
		v.Script = passkeyScript.Address()
	}
	if in.Back != "" {
		data.Back = purposeOf(in.Back).path // a page of this server
	}
	v.Data = data
	return page.Render(c, status, "prove", v)
}
