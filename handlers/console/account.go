package console

import (
	"net/url"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

// ShowAccount renders a user's account page in the console's layout. Its content comes from handlers/identity: v.Data
// is the data for templates/account.html. v.Lang may be a language that the console doesn't have. A user who works for
// only one tenant sees that tenant's navigation.
func (o *Console) ShowAccount(c *web.Call, who core.Visitor, status int, v *page.View) (web.HTML, error) {
	p, err := o.accountPage(c, who)
	if err != nil {
		return web.HTML{}, err
	}
	p.Lang = v.Lang
	return p.Show("account", View{
		Title: v.Title, State: p.T("For every newsletter you work on"), Fault: v.Fault, Done: v.Notice, Status: status,
		Data: v.Data,
	})
}

// ZoneOf returns the time zone for a user's account page: the tenant's if the user works for only one tenant, otherwise
// the browser's.
func (o *Console) ZoneOf(c *web.Call, who core.Visitor) (*time.Location, error) {
	p, err := o.accountPage(c, who)
	if err != nil {
		return nil, err
	}
	return p.Zone, nil
}

// accountPage returns the Page for a user's account. If the user works for only one tenant, that is the page's tenant.
func (o *Console) accountPage(c *web.Call, who core.Visitor) (*Page, error) {
	p, err := o.page(c, who)
	if err != nil {
		return nil, err
	}
	if tenant := p.onlyTenant(); tenant != "" {
		if err := p.enter(tenant, core.ActionTenantRead); err != nil {
			if core.KindOf(err) != core.NotFound { // the tenant was deleted
				return nil, err
			}
			p.Tenant = core.Tenant{}
		}
	}
	return p, nil
}

// onlyTenant returns the id of the visitor's tenant, or an empty string if the visitor has roles in none or several.
func (p *Page) onlyTenant() (only string) {
	for _, r := range p.Who.User.Roles {
		if r.TenantID == core.TenantNone || r.TenantID == only {
			continue
		}
		if only != "" {
			return ""
		}
		only = r.TenantID
	}
	return only
}

// KeepsOwn reports whether the visitor has models, devices or agents, or sees other users' models. Pages hide these
// features from other visitors.
func (p *Page) KeepsOwn() (bool, error) {
	one := url.Values{"limit": {"1"}}
	var library struct {
		Items []struct{} `json:"items"`
	}
	if _, err := p.Get("/api/models/library", one, &library); err != nil || len(library.Items) > 0 {
		return err == nil, err
	}
	for _, path := range []string{"/api/devices", "/api/agents"} {
		var found []struct{}
		if _, err := p.Get(path, one, &found); err != nil || len(found) > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// welcome shows a visitor without a role what to do next.
func (o *Console) welcome(p *Page) (web.HTML, error) {
	title := p.T("Welcome")
	if u := &p.Who.User; u.Name != "" && u.Name != core.DefaultName(u.ID) {
		title = p.T("Welcome, {{name}}", "name", u.Name)
	}
	return p.Show("welcome", View{Title: title, State: p.T("You aren't part of a newsletter yet.")})
}
