package identity

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/store/identity"
)

// mailedLinks serves the pages for setting a password or verifying an address, which emails link to. Opening a page
// changes nothing, because link scanners open every link. Only its button does.
type mailedLinks struct {
	auth    *auth.Provider
	forgets *web.OriginLimits
}

// mailedRoutes adds the page for requesting a password reset, and the pages that account emails link to.
func (r *Room) mailedRoutes(t *web.Table) {
	m := mailedLinks{r.Auth, r.Forgets}
	t.Add("GET", "/password/forgot", web.Public(), web.Page,
		web.Query(web.Visited(m.forgotPage)), "Show the page to request a password reset")
	t.Add("POST", "/password/forgot", web.Public(), web.Page,
		web.Form(web.Visited(m.forgot)).NeedsRoom(web.MaxWrite).Fails(core.Forbidden, core.TooMany),
		"Request a password reset email")
	t.Add("GET", "/password/reset", web.Public(), web.Page,
		web.Query(web.Visited(m.resetPage)), "Show the page to set a new password")
	t.Add("POST", "/password/reset", web.Public(), web.Page,
		web.Form(web.Visited(m.reset)).Fails(core.Forbidden), "Set a new password")
	t.Add("GET", "/verify", web.Public(), web.Page, web.Query(web.Visited(m.verifyPage)), "Show the page to verify "+
		"an address")
	t.Add("POST", "/verify", web.Public(), web.Page,
		web.Form(web.Visited(m.verify)).Fails(core.Forbidden), "Verify an address")
}

type emailForm struct {
	Email    string `form:"email"`
	Continue string `form:"continue"`
}

// forgotten holds the context of the page for requesting a password reset. A user who comes from a client's sign-in
// page sees the design of the client's tenant, and returns to that page.
type forgotten struct {
	Email, Continue, Back string
	brand                 page.Brand
	tenantID, client      string
}

func (m mailedLinks) forgotten(c *web.Call, continueTo string) (f forgotten, err error) {
	p := purposeOf(continueTo)
	f.brand = page.OwnBrand()
	request, err := requested(c, p)
	if _, faulty := errors.AsType[*auth.AuthorizeError](err); faulty || request == nil && err == nil {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	f.Continue, f.Back, f.client = p.path, p.asQuery(), request.Client.Name
	if !request.Client.Suspended {
		f.tenantID = request.Client.TenantID
	}
	f.brand, err = page.ClientBrand(c, &request.Client)
	return f, err
}

// mailStyle returns the style of the email that the page sends.
func (f *forgotten) mailStyle(c *web.Call) core.MailStyle {
	return core.MailStyle{TenantID: f.tenantID, Language: c.Language()}
}

func (m mailedLinks) forgotPage(c *web.Call, in loginQuery) (web.HTML, error) {
	f, err := m.forgotten(c, in.Continue)
	if err != nil {
		return web.HTML{}, err
	}
	return page.Render(c, 0, "forgot", page.View{Title: page.WordsOf(c).ForgotLink, Brand: f.brand, Data: f})
}

// forgot returns the same response for every address.
func (m mailedLinks) forgot(c *web.Call, in emailForm) (web.HTML, error) {
	f, err := m.forgotten(c, in.Continue)
	if err != nil {
		return web.HTML{}, err
	}
	email, err := core.ParseEmail(in.Email)
	if err != nil {
		f.Email = web.Truncate(in.Email, maxShown)
		return page.Render(c, 400, "forgot", page.View{
			Title: page.WordsOf(c).ForgotLink, Fault: page.WordsOf(c).FaultEmail, Brand: f.brand,
			Data: f,
		})
	}
	if err := m.forgets.Check(c, false); err != nil {
		return web.HTML{}, err
	}
	if err := m.auth.Forgot(c, email, f.mailStyle(c), c.Now); err != nil {
		return web.HTML{}, err
	}
	w := page.WordsOf(c)
	return page.RenderMessage(c, 0, w.CheckTitle, page.Note{
		Lines: []string{page.FillIn(w.ForgotSent, "email", email), w.ForgotHint}, Link: "/login" + f.Back,
		LinkText: w.BackSignIn,
	}, f.brand)
}

type mailedQuery struct {
	Token string `query:"token"`
	Email string `query:"email"`
}

type mailedForm struct {
	Token    string `form:"token"`
	Email    string `form:"email"`
	Password string `form:"new_password"`
	Name     string `form:"name" about:"Display name of a new account"`
	Clients  string `form:"disable_clients" about:"1: also disable API clients and webhook endpoints that the user created or changed"`
}

// linkOpened gives the pages the design of the email that contained the token. If email is empty, it sets email to the
// address that the token was sent to, because links contain only the token.
func linkOpened(c *web.Call, token string, email *string) error {
	if token == "" {
		return nil
	}
	hash := core.HashToken(token)
	tenantID, err := c.Store().MailedTenant(c, hash)
	if err == nil {
		_, err = page.BrandOf(c, tenantID)
	}
	if err != nil || *email != "" {
		return err
	}
	found, err := c.Store().MailedAddress(c, hash)
	if err != nil && !errors.Is(err, core.ErrInvalidToken) {
		return err
	}
	*email = string(found)
	return nil
}

type passwordPage struct {
	Text                                      template.HTML
	Email, Token, Action, Label, Hint, Button string
	Created                                   string // clients that the user created or changed and may disable
	Name                                      string // entered name
	Begins                                    bool   // the account is new, so the page asks for the user's name
}

func (m mailedLinks) resetPage(c *web.Call, in mailedQuery) (web.HTML, error) {
	if err := linkOpened(c, in.Token, &in.Email); err != nil {
		return web.HTML{}, err
	}
	return m.showPassword(c, identity.TokenReset, mailedForm{Token: in.Token, Email: in.Email}, nil)
}

// showPassword shows the form for a new password if its token is valid.
func (m mailedLinks) showPassword(c *web.Call, purpose string, in mailedForm, fault error) (web.HTML, error) {
	email, err := core.ParseEmail(in.Email)
	if err == nil {
		err = c.Store().CheckUserToken(c, purpose, core.HashToken(in.Token), email, c.Now)
	}
	if err != nil {
		return m.linkFault(c, err)
	}
	w := page.WordsOf(c)
	p := passwordPage{
		Text: page.Strong(w.NewPasswordFor, "email", email), Email: string(email), Token: in.Token,
		Action: "/password/reset",
		Label:  w.NewPassword, Hint: w.NewPasswordHint, Button: w.NewPasswordButton,
	}
	if purpose == identity.TokenReset {
		u, err := c.Store().UserByEmail(c, email)
		if err == nil {
			p.Created, err = ownClients(c, u)
		}
		if err != nil {
			return web.HTML{}, err
		}
	}
	title := w.NewPassword
	if purpose == identity.TokenClaim {
		p.Text, p.Action, title = page.Strong(w.ClaimText, "email", email), verifyPath, w.VerifyTitle
		p.Begins, p.Name = true, web.Truncate(in.Name, maxShown)
	}
	return m.renderPassword(c, title, p, fault)
}

func (m mailedLinks) renderPassword(c *web.Call, title string, p passwordPage, fault error) (web.HTML, error) {
	v := page.View{Title: title, Data: p}
	status, err := v.Blame(c, fault)
	if err != nil {
		return web.HTML{}, err
	}
	return page.Render(c, status, "password", v)
}

// linkFault shows that a link is no longer valid. It returns other errors unchanged.
func (m mailedLinks) linkFault(c *web.Call, err error) (web.HTML, error) {
	if core.KindOf(err) != core.Invalid {
		return web.HTML{}, err
	}
	c.LogError(err)
	w := page.WordsOf(c)
	return page.RenderMessage(c, 400, w.OverTitle,
		page.Note{Lines: []string{w.OverText}, Link: "/password/forgot", LinkText: w.OverButton}, page.Brand{})
}

func (m mailedLinks) reset(c *web.Call, in mailedForm) (web.HTML, error) {
	if err := linkOpened(c, in.Token, &in.Email); err != nil {
		return web.HTML{}, err
	}
	return m.setPassword(c, identity.TokenReset, in, m.auth.ResetPassword)
}

func (m mailedLinks) setPassword(c *web.Call, purpose string, in mailedForm, redeem auth.RedeemFunc) (web.HTML, error) {
	email, err := core.ParseEmail(in.Email)
	if err == nil && purpose == identity.TokenClaim {
		err = in.checkName()
	}
	if err == nil {
		err = redeem(c, email, in.Token, in.Password, "new_password", c.Now)
	}
	switch {
	case errors.Is(err, core.ErrInvalidToken), errors.Is(err, core.ErrTokenExpired):
		return m.linkFault(c, err)
	case err != nil:
		return m.showPassword(c, purpose, in, err)
	}
	if purpose == identity.TokenClaim {
		return m.begin(c, email, in, m.passwordSet)
	}
	u, err := c.Store().UserByEmail(c, email)
	if err != nil {
		return web.HTML{}, err
	}
	if err := endOwnClients(c, u, in.Clients); err != nil {
		return web.HTML{}, err
	}
	created, err := ownClients(c, u)
	if err != nil {
		return web.HTML{}, err
	}
	return m.passwordSet(c, created)
}

// passwordSet signs the browser out and shows a confirmation. It names the clients that the user created or changed, if
// there are any.
func (m mailedLinks) passwordSet(c *web.Call, created string) (web.HTML, error) {
	if err := c.EndSession(); err != nil {
		return web.HTML{}, err
	}
	w := page.WordsOf(c)
	lines := []string{w.PasswordSetText}
	if created != "" {
		lines = append(lines, page.FillIn(w.ClientsStay, "clients", created))
	}
	return page.RenderMessage(c, 0, w.PasswordSetTitle, page.Note{Lines: lines, Link: "/login", LinkText: w.SignIn},
		page.Brand{})
}

// verifyPage asks for the password that was set at registration, or a new one (auth.ProveAddress). To claim an account
// (auth.ClaimAddress), a new one is required.
func (m mailedLinks) verifyPage(c *web.Call, in mailedQuery) (web.HTML, error) {
	if err := linkOpened(c, in.Token, &in.Email); err != nil {
		return web.HTML{}, err
	}
	form := mailedForm{Token: in.Token, Email: in.Email}
	claim, err := m.isClaim(c, form)
	if err != nil {
		return web.HTML{}, err
	}
	if claim {
		return m.showPassword(c, identity.TokenClaim, form, nil)
	}
	email, err := core.ParseEmail(in.Email)
	if err != nil || in.Token == "" {
		return m.linkFault(c, core.ErrInvalidToken)
	}
	if whose, err := m.changeOf(c, email, in.Token); err != nil {
		return m.linkFault(c, err)
	} else if whose != "" {
		return m.changePage(c, whose, email, in, 0)
	}
	verified, err := m.auth.CheckAddressToken(c, email, in.Token, c.Now)
	if err != nil {
		return m.linkFault(c, err)
	}
	if verified {
		return m.tellVerified(c, email)
	}
	return m.askPassword(c, email, form, nil)
}

// askPassword asks for the existing password or a new one, because someone else may have registered the address.
func (m mailedLinks) askPassword(c *web.Call, email core.Email, in mailedForm, fault error) (web.HTML, error) {
	w := page.WordsOf(c)
	return m.renderPassword(c, w.VerifyTitle, passwordPage{
		Text: page.Strong(w.VerifyText, "email", email), Email: string(email), Token: in.Token, Action: verifyPath,
		Label: w.Password, Hint: w.VerifyHint, Button: w.VerifyButton, Begins: true,
		Name: web.Truncate(in.Name, maxShown),
	}, fault)
}

func (m mailedLinks) tellVerified(c *web.Call, email core.Email) (web.HTML, error) {
	w := page.WordsOf(c)
	return page.RenderMessage(c, 0, w.VerifiedTitle,
		page.Note{
			Lines: []string{page.FillIn(w.VerifiedText, "email", email)}, Link: page.AccountPath,
			LinkText: w.ToAccount,
		},
		page.Brand{})
}

func (m mailedLinks) isClaim(c *web.Call, in mailedForm) (bool, error) {
	email, err := core.ParseEmail(in.Email)
	if err != nil {
		return false, nil
	}
	err = c.Store().CheckUserToken(c, identity.TokenClaim, core.HashToken(in.Token), email, c.Now)
	if core.KindOf(err) == core.Invalid {
		return errors.Is(err, core.ErrTokenExpired), nil
	}
	return err == nil, err
}

// changeOf returns the user whose address a token changes, or an empty string if it is a different kind of token. If
// the token has expired, it returns core.ErrTokenExpired.
func (m mailedLinks) changeOf(c *web.Call, email core.Email, token string) (userID string, err error) {
	userID, err = c.Store().CheckEmailChange(c, core.HashToken(token), email, c.Now)
	if errors.Is(err, core.ErrInvalidToken) {
		return "", nil
	}
	return userID, err
}

// changePage asks a visitor who is signed in to the account to confirm the new address. Other visitors must sign in.
func (m mailedLinks) changePage(c *web.Call, whose string, email core.Email, in mailedQuery, status int) (web.HTML,
	error,
) {
	who, err := c.SignedIn()
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return web.HTML{}, err
	}
	if err == nil && who.User.ID == whose {
		return page.Render(c, status, "change", page.View{Title: page.WordsOf(c).ChangeTitle, Data: in})
	}
	link := verifyPath + "?" + url.Values{"token": {in.Token}, "email": {in.Email}}.Encode()
	w := page.WordsOf(c)
	return page.RenderMessage(c, status, w.ChangeTitle, page.Note{
		Lines: []string{page.FillIn(w.ChangeSignIn, "email", email), w.ChangeNot}, Link: page.LoginPath(link),
		LinkText: w.SignIn,
	}, page.Brand{})
}

func (m mailedLinks) verify(c *web.Call, in mailedForm) (web.HTML, error) {
	if err := linkOpened(c, in.Token, &in.Email); err != nil {
		return web.HTML{}, err
	}
	claim, err := m.isClaim(c, in)
	if err != nil {
		return web.HTML{}, err
	}
	if claim {
		return m.setPassword(c, identity.TokenClaim, in, m.auth.ClaimAddress)
	}
	email, err := core.ParseEmail(in.Email)
	if err != nil {
		return m.linkFault(c, err)
	}
	if whose, err := m.changeOf(c, email, in.Token); err != nil {
		return m.linkFault(c, err)
	} else if whose != "" {
		return m.changeEmail(c, whose, email, in)
	}
	var proof auth.AddressProof
	if err = in.checkName(); err == nil {
		proof, err = m.auth.ProveAddress(c, email, in.Token, in.Password, "new_password", c.Now)
	}
	switch {
	case errors.Is(err, core.ErrInvalidToken), errors.Is(err, core.ErrTokenExpired):
		return m.linkFault(c, err)
	case err != nil:
		return m.askPassword(c, email, in, err)
	case proof == auth.AddressWasVerified: // the password was not checked
		return m.tellVerified(c, email)
	case proof == auth.AddressVerified:
		return m.begin(c, email, in, func(c *web.Call, _ string) (web.HTML, error) { return m.tellVerified(c, email) })
	}
	return m.begin(c, email, in, m.passwordSet)
}

// checkName validates a new account's name. It is called before the token is used up.
func (in *mailedForm) checkName() error {
	return (&core.User{ID: core.NewID(), Name: in.Name, Email: core.Email(in.Email)}).Validate()
}

// begin sets the name of an account whose address was just verified, and signs its owner in. The emailed token and the
// password prove as much as a sign-in, but a second factor is still required. If the account was created for a client,
// or other people have used up the attempts, tell renders the page.
func (m mailedLinks) begin(c *web.Call, email core.Email, in mailedForm,
	tell func(c *web.Call, clients string) (web.HTML, error),
) (web.HTML, error) {
	if name := strings.TrimSpace(in.Name); name != "" {
		u, err := c.Store().UserByEmail(c, email)
		if err == nil {
			_, err = c.Store().UpdateUser(c, u.ID, identity.UserInput{Name: &name}, c.Now)
		}
		if err != nil {
			return web.HTML{}, err
		}
	}
	if page.StyleOf(c).Tenant != "" {
		return tell(c, "")
	}
	html, err := signIn(c, m.auth, purpose{path: page.ConsolePath}, string(email), in.Password)
	if err == nil {
		return html, nil
	}
	c.LogError(err)
	return tell(c, "")
}

// changeEmail sets the account's new address if the account's user is signed in.
func (m mailedLinks) changeEmail(c *web.Call, whose string, email core.Email, in mailedForm) (web.HTML, error) {
	who, err := c.SignedIn()
	if errors.Is(err, core.ErrNotFound) || err == nil && who.User.ID != whose {
		return m.changePage(c, whose, email, mailedQuery{in.Token, in.Email}, http.StatusForbidden)
	}
	if err == nil {
		err = m.auth.ChangeEmail(c, who.User.ID, email, in.Token, c.Language(), c.Now)
	}
	if err != nil {
		return m.linkFault(c, err)
	}
	w := page.WordsOf(c)
	return page.RenderMessage(c, 0, w.ChangedTitle,
		page.Note{
			Lines: []string{page.FillIn(w.ChangedText, "email", email)}, Link: page.AccountPath,
			LinkText: w.ToAccount,
		},
		page.Brand{})
}
