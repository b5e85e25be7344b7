package identity

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

// setupPath is the path of the page where the first server administrator creates an account, with a link that a command
// printed.
const setupPath = "/setup"

// SetupPath returns the path of the setup page for a token from auth.SetupToken.
func SetupPath(token string) string { return setupPath + "?" + url.Values{"token": {token}}.Encode() }

// setupPages serves the setup page.
type setupPages struct{ auth *auth.Provider }

type setupQuery struct {
	Token string `query:"token"`
}

type setupForm struct {
	Token    string `form:"token"`
	Name     string `form:"name"`
	Email    string `form:"email"`
	Password string `form:"password"`
}

// setupRoutes adds the setup page for the first server administrator.
func (r *Room) setupRoutes(t *web.Table) {
	a := setupPages{r.Auth}
	t.Add("GET", setupPath, web.Public(), web.Page, web.Query(web.Visited(a.page)).Fails(core.Invalid),
		"Show the setup page for the first server administrator")
	t.Add("POST", setupPath, web.Public(), web.Page, web.Form(web.Visited(a.make)).Rated(r.registers),
		"Create the account of the first server administrator")
}

func (a setupPages) page(c *web.Call, in setupQuery) (web.HTML, error) {
	return a.show(c, setupForm{Token: in.Token}, nil)
}

// show shows the form if the link is valid. fault is an error in a submitted form, or nil.
func (a setupPages) show(c *web.Call, in setupForm, fault error) (web.HTML, error) {
	if err := a.auth.CheckSetup(c, in.Token, c.Now); err != nil {
		return a.over(c, err)
	}
	v := page.View{
		Title: page.WordsOf(c).SetupTitle,
		Data: setupForm{
			Token: in.Token, Name: web.Truncate(in.Name, maxShown),
			Email: web.Truncate(in.Email, maxShown),
		},
	}
	status, err := v.Blame(c, fault)
	if err != nil {
		return web.HTML{}, err
	}
	v.AtField = v.Field != ""
	return page.Render(c, status, "setup", v)
}

func (a setupPages) over(c *web.Call, err error) (web.HTML, error) {
	if !errors.Is(err, auth.ErrSetupOver) {
		return web.HTML{}, err
	}
	c.LogError(err)
	w := page.WordsOf(c)
	return page.RenderMessage(c, http.StatusBadRequest, w.OverTitle, page.Note{
		Lines: []string{w.SetupOver}, Link: "/login", LinkText: w.SignIn, Quiet: true,
	}, page.Brand{})
}

// make creates the account and signs the user in. The account keeps the browser's language, because emails about the
// server are sent without a browser.
func (a setupPages) make(c *web.Call, in setupForm) (web.HTML, error) {
	err := a.auth.Setup(c, in.Token, strings.TrimSpace(in.Name), in.Email, in.Password, c.Language(), c.Now)
	switch {
	case errors.Is(err, auth.ErrSetupOver):
		return a.over(c, err)
	case err != nil:
		return a.show(c, in, err)
	}
	return signIn(c, a.auth, purpose{path: page.ConsolePath}, in.Email, in.Password)
}
