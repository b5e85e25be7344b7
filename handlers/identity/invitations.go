package identity

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/mail/notice"
	"newsletterd/store"
	"newsletterd/store/identity"
)

// invitations serves /api/admin/invitations and the page that invitation emails link to.
type invitations struct {
	store *store.Store
	auth  *auth.Provider
}

// invitationRoutes adds the routes for invitations to a tenant.
func (r *Room) invitationRoutes(t *web.Table) {
	i := invitations{r.Store, r.Auth}
	const path, item = "/api/admin/invitations", "/api/admin/invitations/:id"
	t.Add("GET", path, web.Admin(core.ActionTeamRead), web.Member,
		web.List(i.list, func(i core.Invitation) string { return i.ID }), "List pending invitations").
		Named("listInvitations")
	t.Add("POST", path, web.Admin(core.ActionTeamManage), web.Member,
		web.JSON(i.create).Created().Fails(core.NotFound, core.TooMany), "Invite a person to a role by email, in "+
			"the language of Accept-Language or else the tenant's").
		Named("createInvitation").
		Limits(web.Never(roleInTenant()...)).
		Example(web.Object{"tenant_id": web.ExampleID, "email": "eve@acme.example", "role": "editor"}).
		Refuses(web.BadEmail)
	t.Add("GET", item, web.Admin(core.ActionTeamRead), web.Member, web.Path(i.show).Find(i.find),
		"Show a pending invitation").
		Named("getInvitation")
	t.Add("DELETE", item, web.Admin(core.ActionTeamManage), web.Member,
		web.Path(i.remove).Find(i.find), "Withdraw an invitation").Named("deleteInvitation")
	t.Add("GET", invitationPath, web.Public(), web.Page, web.Query(web.Visited(i.page)),
		"Show the invitation page")
	t.Add("POST", invitationPath, web.Public(), web.Page,
		web.Form(web.Visited(i.accept)).Fails(core.Forbidden), "Accept an invitation")
}

func (a invitations) find(c *web.Call) error {
	i, err := a.store.Invitation(c, c.ID())
	return web.OwnRecord(c, i.TenantID, core.ActionTeamRead, err, web.ErrNotFound)
}

func (a invitations) list(c *web.Call, in web.TenantFilter, page core.Page) ([]core.Invitation, error) {
	return web.PageFor(c, in, page, a.store.Invitations)
}

func (a invitations) create(c *web.Call, in core.InvitationInput) (core.Invitation, error) {
	if err := (core.Role{Role: in.Role, TenantID: in.TenantID}).Validate(); err != nil {
		return core.Invitation{}, err
	}
	if err := web.MayGive(c, in.TenantID); err != nil {
		return core.Invitation{}, err
	}
	i, err := a.auth.Invite(c, in, c.Language(), web.Actor(c), c.Now)
	return i, web.UnknownTenant(err)
}

func (a invitations) show(c *web.Call, id string) (core.Invitation, error) {
	return a.store.Invitation(c, id)
}

func (a invitations) remove(c *web.Call, id string) (web.None, error) {
	return web.None{}, a.store.DeleteInvitation(c, id, web.Actor(c), c.Now)
}

const invitationPath = "/invitation"

// invitationQuery holds the query of the link in an invitation email.
type invitationQuery struct {
	Token string `query:"token"`
	Lang  string `query:"ui_locales" about:"Language of the page, such as de"`
}

// address returns the link's path and query.
func (q *invitationQuery) address() string {
	v := url.Values{"token": {q.Token}}
	if q.Lang != "" {
		v.Set("ui_locales", q.Lang)
	}
	return invitationPath + "?" + v.Encode()
}

// joinForm is the form on an invitation's page. A signed-in user sends only the token.
type joinForm struct {
	Token    string `form:"token"`
	Lang     string `form:"ui_locales" about:"Language of the page, such as de"`
	Name     string `form:"name"`
	Password string `form:"new_password"`
}

// invited holds the data for handlers/page/pages/invitation.html.
type invited struct {
	Token, Lang, Email, Name string
	By, Tenant               string // the inviter, and the tenant; empty: an invitation for a server administrator
	Role                     string // name of the role, in the page's language
	SignedIn                 bool
}

func (a invitations) page(c *web.Call, in invitationQuery) (web.HTML, error) {
	return a.showPage(c, joinForm{Token: in.Token, Lang: in.Lang}, nil)
}

// speak sets the language of the request's pages, if it is supported.
func speak(c *web.Call, lang string) {
	if page.AllWords()[lang] != nil {
		page.StyleOf(c).Lang = lang
	}
}

// invited returns the invitation that the link belongs to. It also gives the pages the tenant's design and the email's
// language.
func (a invitations) invited(c *web.Call, in joinForm) (identity.Invited, error) {
	i, err := a.store.Invited(c, core.HashToken(in.Token), c.Now)
	if err == nil {
		_, err = page.BrandOf(c, i.TenantID)
	}
	speak(c, in.Lang)
	return i, err
}

// showPage shows an invitation's page. A user who is signed in with the invited address gets a button. A visitor who is
// not signed in gets a sign-in link if the address has an account that its owner has verified. Otherwise, the visitor
// gets the form for a new account.
func (a invitations) showPage(c *web.Call, in joinForm, fault error) (web.HTML, error) {
	i, err := a.invited(c, in)
	if err != nil {
		return a.over(c, err)
	}
	signedIn, err := a.signedIn(c, &i)
	if err != nil {
		return web.HTML{}, err
	}
	w := page.WordsOf(c)
	if i.Proved && !signedIn {
		link := (&invitationQuery{in.Token, in.Lang}).address()
		return page.RenderMessage(c, 0, w.InvitationTitle, page.Note{
			Lines: []string{page.FillIn(w.InvitationSignIn, "email", i.Email)}, Link: page.LoginPath(link),
			LinkText: w.SignIn,
		}, page.Brand{})
	}
	by, err := a.store.Inviter(c, &i.Invitation)
	if err != nil {
		return web.HTML{}, err
	}
	v := page.View{Title: w.InvitationTitle, Data: invited{
		Token: in.Token, Lang: page.StyleOf(c).Lang, Email: string(i.Email), Name: web.Truncate(in.Name, maxShown),
		By: cmp.Or(by, i.TenantName), Tenant: i.TenantName, Role: notice.RoleName(page.StyleOf(c).Lang, i.Role),
		SignedIn: signedIn,
	}}
	status, err := v.Blame(c, fault)
	if err != nil {
		return web.HTML{}, err
	}
	v.AtField = !signedIn && v.Field != ""
	return page.Render(c, status, "invitation", v)
}

// signedIn reports whether the visitor is signed in to the account with the invited address, and the address's owner
// has proved the account's password.
func (a invitations) signedIn(c *web.Call, i *identity.Invited) (bool, error) {
	who, err := c.SignedIn()
	if errors.Is(err, core.ErrNotFound) {
		return false, nil
	}
	return err == nil && i.Proved && who.User.ID == i.UserID, err
}

func (a invitations) over(c *web.Call, err error) (web.HTML, error) {
	if core.KindOf(err) != core.Invalid {
		return web.HTML{}, err
	}
	c.LogError(err)
	w := page.WordsOf(c)
	return page.RenderMessage(c, http.StatusBadRequest, w.OverTitle, page.Note{Lines: []string{w.InvitationOver}},
		page.Brand{})
}

// accept assigns the role. A person who creates an account for the role is signed in immediately: the emailed token and
// the new password prove as much as a sign-in. A second factor is still required.
func (a invitations) accept(c *web.Call, in joinForm) (web.HTML, error) {
	hash := core.HashToken(in.Token)
	i, err := a.invited(c, in)
	if err != nil {
		return a.over(c, err)
	}
	signedIn, err := a.signedIn(c, &i)
	switch {
	case err != nil:
		return web.HTML{}, err
	case i.Proved && !signedIn:
		return a.showPage(c, in, nil)
	case signedIn:
		err = a.store.AcceptInvitation(c, hash, i.UserID, c.Now)
	default:
		language := in.Lang
		if page.AllWords()[language] == nil || language == c.Language() {
			language = "" // unknown, or what the browser prefers anyway
		}
		err = a.auth.JoinByInvitation(c, in.Token, in.Name, in.Password, language, c.Now)
	}
	switch {
	case errors.Is(err, core.ErrInvalidToken), errors.Is(err, core.ErrTokenExpired):
		return a.over(c, err)
	case err != nil:
		return a.showPage(c, in, err)
	}
	to := page.ConsolePath
	if i.TenantID != core.TenantNone {
		to += "/" + i.TenantID
	}
	if signedIn {
		return web.HTML{To: c.PublicURL() + to}, nil
	}
	html, err := signIn(c, a.auth, purpose{path: to}, string(i.Email), in.Password)
	if err == nil {
		return html, nil
	}
	c.LogError(err) // the role is assigned; if others used up the attempts, the person can sign in later
	w := page.WordsOf(c)
	return page.RenderMessage(c, 0, w.InvitationDone, page.Note{
		Lines: []string{page.FillIn(w.InvitationDoneText, "email", i.Email)}, Link: "/login", LinkText: w.SignIn,
	}, page.Brand{})
}
