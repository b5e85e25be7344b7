package handlers

import (
	"errors"
	"net/http"
	"net/url"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// invitations serves /api/admin/invitations, and the page that their mails lead to.
type invitations struct {
	store *store.Store
	auth  *auth.Provider
}

func (a invitations) find(c *web.Call) error {
	i, err := a.store.Invitation(c, c.ID())
	return ownRecord(c, i.TenantID, core.ActionTeamRead, err, web.ErrNotFound)
}

func (a invitations) list(c *web.Call, in tenantFilter, page core.Page) ([]core.Invitation, error) {
	return pageFor(c, in, page, a.store.Invitations)
}

func (a invitations) create(c *web.Call, in core.InvitationInput) (core.Invitation, error) {
	if err := (core.Role{Role: in.Role, TenantID: in.TenantID}).Validate(); err != nil {
		return core.Invitation{}, err
	}
	if err := mayGive(c, in.TenantID); err != nil {
		return core.Invitation{}, err
	}
	i, err := a.auth.Invite(c, in, c.Language(), actor(c), c.Now)
	return i, unknownTenant(err)
}

func (a invitations) show(c *web.Call, id string) (core.Invitation, error) {
	return a.store.Invitation(c, id)
}

func (a invitations) remove(c *web.Call, id string) (web.None, error) {
	return web.None{}, a.store.DeleteInvitation(c, id, actor(c), c.Now)
}

const invitationPath = "/invitation"

// invitationQuery is the link of an invitation's mail.
type invitationQuery struct {
	Token string `query:"token"`
}

// joinForm is the form of the page of an invitation; a user who is signed in sends the token alone.
type joinForm struct {
	Token    string `form:"token"`
	Name     string `form:"name"`
	Password string `form:"new_password"`
}

// invited is the Data of pages/invitation.html.
type invited struct {
	Token, Email, Tenant, Name string
	SignedIn                   bool
}

func (a invitations) page(c *web.Call, in invitationQuery) (web.HTML, error) {
	return a.showPage(c, joinForm{Token: in.Token}, nil)
}

// showPage shows the page of an invitation: a button for the user with its address who is signed in, a link to sign in
// for one who is not, and the form of a new account where the address has none that its owner has proved.
func (a invitations) showPage(c *web.Call, in joinForm, fault error) (web.HTML, error) {
	i, err := a.store.Invited(c, core.HashToken(in.Token), c.Now)
	if err != nil {
		return a.over(c, err)
	}
	signedIn, err := a.signedIn(c, &i)
	if err != nil {
		return web.HTML{}, err
	}
	w := wordsOf(c)
	if i.Proved && !signedIn {
		link := url.Values{"continue": {invitationPath + "?" + url.Values{"token": {in.Token}}.Encode()}}
		return renderMessage(c, 0, w.InvitationTitle, note{
			Lines: []string{fillIn(w.InvitationSignIn, "email", i.Email)}, Link: "/login?" + link.Encode(),
			LinkText: w.SignIn,
		}, brand{})
	}
	v := view{Title: w.InvitationTitle, Data: invited{
		in.Token, string(i.Email), i.TenantName, truncate(in.Name, maxShown), signedIn,
	}}
	status, err := v.blame(c, fault)
	if err != nil {
		return web.HTML{}, err
	}
	v.AtField = !signedIn && v.field != ""
	return render(c, status, "invitation", v)
}

// signedIn reports whether the visitor is signed in with the invited address, and has proved it.
func (a invitations) signedIn(c *web.Call, i *store.Invited) (bool, error) {
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
	w := wordsOf(c)
	return renderMessage(c, http.StatusBadRequest, w.OverTitle, note{Lines: []string{w.InvitationOver}}, brand{})
}

func (a invitations) accept(c *web.Call, in joinForm) (web.HTML, error) {
	hash := core.HashToken(in.Token)
	i, err := a.store.Invited(c, hash, c.Now)
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
		err = a.auth.JoinByInvitation(c, in.Token, in.Name, in.Password, c.Now)
	}
	switch {
	case errors.Is(err, core.ErrInvalidToken), errors.Is(err, core.ErrTokenExpired):
		return a.over(c, err)
	case err != nil:
		return a.showPage(c, in, err)
	}
	w := wordsOf(c)
	link, text := "/login", w.SignIn
	if signedIn {
		link, text = accountPath, w.ToAccount
	}
	return renderMessage(c, 0, w.InvitationDone, note{
		Lines: []string{fillIn(w.InvitationDoneText, "email", i.Email)}, Link: link, LinkText: text,
	}, brand{})
}
