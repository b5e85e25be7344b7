package console

import (
	"cmp"
	"net/url"
	"slices"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// teamRoutes adds the routes for a tenant's team.
func (o *Console) teamRoutes(t *web.Table) {
	const read, change = core.ActionTeamRead, core.ActionTeamManage
	o.get(t, "/settings/team", read, o.team, "The console: the team of a tenant")
	o.post(t, "/settings/team", change, o.invite, "The console: invite a person")
	o.post(t, "/settings/team/:id/role", change, o.teamRole, "The console: change the role of a team member")
	o.post(t, "/settings/team/:id/remove", change, o.teamRemove, "The console: remove a team member")
	o.post(t, "/settings/invitations/:id/delete", change, o.invitationDelete, "The console: withdraw an invitation")
}

// teamData holds the data for the team page.
type teamData struct {
	Team        []core.Teammate
	Invitations []core.Invitation
	Operator    bool              // whether the visitor is a server administrator without a role here
	Changes     bool              // whether the visitor can change the role of at least one person
	Approval    bool              // whether a second person must approve campaigns
	Disable     map[string]string // labels of checkboxes for disabling a person's clients, by user id
}

// roles adds a visitor without a role to the team if they are a server administrator.
func (d *teamData) roles(p *Page) {
	me := p.Who.User
	d.Approval = p.Tenant.Approval == core.ApprovalSecondPerson
	for i := range d.Team {
		d.Changes = d.Changes || d.Team[i].ID != me.ID && p.May(core.ActionTeamManage)
	}
	d.Operator = p.IsOperator() && !slices.ContainsFunc(d.Team, func(t core.Teammate) bool { return t.ID == me.ID })
}

// Count returns the number of team members that the visitor can see.
func (d teamData) Count() int64 {
	n := int64(len(d.Team))
	if d.Operator {
		n++
	}
	return n
}

// maxTeam is the maximum number of people and invitations on the page.
const maxTeam = 300

func (o *Console) team(p *Page) (web.HTML, error) { return p.showTeam(filled{}, View{}) }

func (p *Page) showTeam(f filled, v View) (web.HTML, error) {
	var d teamData
	var err error
	if d.Team, err = all[core.Teammate](p, "/api/admin/team", p.ofTenant("limit", "100"), maxTeam); err != nil {
		return web.HTML{}, err
	}
	if d.Invitations, err = all[core.Invitation](p, "/api/admin/invitations", p.ofTenant("limit", "100"),
		maxTeam); err != nil {
		return web.HTML{}, err
	}
	if p.May(core.ActionTeamManage) {
		if err := p.madeByTeam(&d); err != nil {
			return web.HTML{}, err
		}
	}
	d.roles(p)
	v.State = p.N("1 member|{{n}} members", d.Count())
	return p.showSettings("team", "team", v, f, d)
}

// madeByTeam reads the clients and webhooks that team members created.
func (p *Page) madeByTeam(d *teamData) error {
	var found core.Made
	var err error
	found.Clients, err = all[core.Client](p, apiClients, p.ofTenant("limit", "100"), maxClients)
	if err == nil {
		found.Endpoints, err = all[core.Endpoint](p, apiEndpoints, p.ofTenant("limit", "100"), 2*core.MaxEndpoints)
	}
	if err != nil {
		return err
	}
	d.Disable = map[string]string{}
	for _, t := range d.Team {
		by := []string{core.UserActor(t.ID)}
		for i := range found.Clients {
			if slices.Contains(found.Clients[i].Keepers, by[0]) {
				by = append(by, core.ClientActor(found.Clients[i].ID))
			}
		}
		keeps := func(keepers core.Strings) bool {
			return slices.ContainsFunc(keepers, func(k string) bool { return slices.Contains(by, k) })
		}
		own, _ := found.Only(func(c *core.Client) bool { return keeps(c.Keepers) && c.DisabledAt == 0 },
			func(e *core.Endpoint) bool { return keeps(e.Keepers) && e.DisabledAt == 0 })
		d.Disable[t.ID] = p.disableLabel(own)
	}
	return nil
}

// RoleName returns a role's display name.
func (p *Page) RoleName(role string) string {
	for _, r := range p.RoleOptions() {
		if r.Value == role {
			return r.Text
		}
	}
	return role
}

// RoleOptions returns options for the roles in a tenant, with their rights.
func (p *Page) RoleOptions() []option {
	return []option{
		{core.RoleViewer, p.T("Viewer: can see statistics")},
		{core.RoleEditor, p.T("Editor: can write campaigns")},
		{core.RolePublisher, p.T("Publisher: can write and send campaigns")},
		{core.RoleTenantAdmin, p.T("Administrator: full access")},
	}
}

// InvitationLanguage returns the language that the form suggests for an invitation: the tenant's or, without one, the
// visitor's.
func (p *Page) InvitationLanguage() string { return cmp.Or(p.Tenant.Language, p.Lang) }

// Me returns the visitor's name or, without one, the address.
func (p *Page) Me() string { return personName(p.Who.User.ID, p.Who.User.Name, p.Who.User.Email) }

// NameOf returns a user's name, or the address if the name is only the default.
func (p *Page) NameOf(id, name string, email core.Email) string { return personName(id, name, email) }

// IsMe reports whether a user is the visitor.
func (p *Page) IsMe(id string) bool { return p.Who.User.ID == id }

func (o *Console) invite(p *Page) (web.HTML, error) {
	body := p.sent("email", "role")
	body["tenant_id"] = p.Tenant.ID
	if err := p.sendInvitation(body); err != nil {
		return p.refused(err, p.showTeam)
	}
	return p.Redirect(p.Path("settings", "team"), "invited")
}

// sendInvitation sends an invitation in the language that the form selects.
func (p *Page) sendInvitation(body any) error {
	_, err := p.Ask(web.Question{
		Method: "POST", Path: "/api/admin/invitations", Body: body,
		Header: map[string]string{"Accept-Language": cmp.Or(p.Form["language"], p.InvitationLanguage())},
	})
	return err
}

// teamAgain shows the team page after an action on a person failed.
func (p *Page) teamAgain(_ filled, v View) (web.HTML, error) { return p.showTeam(filled{}, v) }

func (o *Console) teamRole(p *Page) (web.HTML, error) {
	body := map[string]string{"tenant_id": p.Tenant.ID, "role": p.Form["role"]}
	if err := p.Do("PUT", "/api/admin/team/"+url.PathEscape(p.Param("id")), body, nil); err != nil {
		return p.refused(err, p.teamAgain)
	}
	return p.Redirect(p.Path("settings", "team"), "saved")
}

func (o *Console) teamRemove(p *Page) (web.HTML, error) {
	if p.Form["sure"] != "1" {
		return p.notSure(p.teamAgain)
	}
	q := p.ofTenant()
	if p.Form["disable_clients"] == "1" {
		q.Set("disable_clients", "true")
	}
	path := "/api/admin/team/" + url.PathEscape(p.Param("id")) + "?" + q.Encode()
	if err := p.Do("DELETE", path, nil, nil); err != nil {
		return p.refused(err, p.teamAgain)
	}
	return p.Redirect(p.Path("settings", "team"), "removed")
}

func (o *Console) invitationDelete(p *Page) (web.HTML, error) {
	if err := p.Do("DELETE", "/api/admin/invitations/"+url.PathEscape(p.Param("id")), nil, nil); err != nil {
		return p.refused(err, p.teamAgain)
	}
	return p.Redirect(p.Path("settings", "team"), "taken-back")
}

// HasRole reports whether roles contains role.
func (p *Page) HasRole(roles core.Strings, role string) bool { return slices.Contains(roles, role) }
