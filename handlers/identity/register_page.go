package identity

import (
	"errors"
	"net/http"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

// registerForm is the sign-up page's form.
type registerForm struct {
	Continue string `form:"continue"`
	Email    string `form:"email"`
	Password string `form:"password"`
}

// registering holds the data for handlers/page/pages/register.html.
type registering struct{ Client, Continue, Email, Back string }

// registerRoutes adds the sign-up page.
func (r *Room) registerRoutes(t *web.Table) {
	m := mailedLinks{r.Auth, r.Forgets}
	t.Add("GET", "/register", web.Public(), web.Page,
		web.Query(web.Visited(m.registerPage)).Fails(core.Forbidden), "Show the sign-up page")
	t.Add("POST", "/register", web.Public(), web.Page,
		web.Form(web.Visited(m.register)).NeedsRoom(web.MaxWrite).Rated(r.registers).Fails(core.Forbidden,
			core.Conflict),
		"Create an account and email a verification link")
}

// registerPage shows the form. It has the design of the tenant whose client the account is for.
func (m mailedLinks) registerPage(c *web.Call, in loginQuery) (web.HTML, error) {
	return m.showRegister(c, registerForm{Continue: in.Continue}, nil)
}

// showRegister shows the form. fault is an error in a submitted form, or nil.
func (m mailedLinks) showRegister(c *web.Call, in registerForm, fault error) (web.HTML, error) {
	f, err := m.forgotten(c, in.Continue)
	if err != nil {
		return web.HTML{}, err
	}
	if m.auth.ClosedRegistration {
		return web.HTML{}, core.Forbiddenf("Sign-up is closed. Ask an administrator for an invitation.")
	}
	v := page.View{
		Title: page.WordsOf(c).SignUp, Brand: f.brand,
		Data: registering{
			Client: f.client, Continue: f.Continue, Email: web.Truncate(in.Email, maxShown),
			Back: f.Back,
		},
	}
	status := 0
	if errors.Is(fault, core.ErrConflict) {
		v.Fault, v.Field, status = page.WordsOf(c).FaultExists, "email", http.StatusConflict
	} else if status, err = v.Blame(c, fault); err != nil {
		return web.HTML{}, err
	}
	v.AtField = v.Field != ""
	return page.Render(c, status, "register", v)
}

// register creates an account. As with POST /api/auth/register, the response is the same for every address.
func (m mailedLinks) register(c *web.Call, in registerForm) (web.HTML, error) {
	f, err := m.forgotten(c, in.Continue)
	if err != nil {
		return web.HTML{}, err
	}
	email, err := core.ParseEmail(in.Email)
	if err == nil {
		_, err = m.auth.Register(c, email, in.Password, f.mailStyle(c), c.Remote, c.Now)
	}
	if err != nil {
		return m.showRegister(c, in, err)
	}
	w := page.WordsOf(c)
	return page.RenderMessage(c, 0, w.CheckTitle, page.Note{
		Lines: []string{page.FillIn(w.SignUpSent, "email", email), w.ForgotHint}, Link: "/login" + f.Back,
		LinkText: w.BackSignIn,
	}, f.brand)
}
