package console

import (
	"net/url"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// clientRoutes adds the routes for the API client pages.
func (o *Console) clientRoutes(t *web.Table) {
	const may = core.ActionClientManage
	o.get(t, "/settings/clients", may, o.clients, "The console: API clients")
	o.post(t, "/settings/clients", may, o.addClient, "The console: create an API client")
	o.post(t, "/settings/clients/:id/rotate", core.ActionClientSecret, o.rotateClient,
		"The console: rotate the secret of an API client")
	o.post(t, "/settings/clients/:id/switch", may, o.switchClient, "The console: disable or enable an API client")
	o.post(t, "/settings/clients/:id/delete", may, o.deleteClient, "The console: delete an API client")
}

const apiClients = "/api/admin/oauth-clients"

// clientsData holds the data for the API clients page.
type clientsData struct {
	Clients []core.Client
	Scopes  []scopeChoice
}

// scopeChoice is a scope with its name and an explanation of what it allows.
type scopeChoice struct{ Value, Text, Help string }

// maxClients is the maximum number of API clients that the page shows.
const maxClients = 200

// scopeOptions returns the scopes that an API client can have.
func (p *Page) scopeOptions() []scopeChoice {
	scopes := []scopeChoice{
		{
			core.ScopeEventsWrite, p.T("Add and unsubscribe people"),
			p.T("Signs people up, changes their fields and blocks addresses, but can't list subscribers. " +
				"Example: a shop's checkout."),
		},
		{
			core.ScopeListRead, p.T("Read subscribers"),
			p.T("Gets the subscribers of a list with their fields, but can't change them. " +
				"Example: a copy in your CRM."),
		},
		{
			core.ScopeSend, p.T("Write and send campaigns"),
			p.T("Creates campaigns, uploads images, sends, and reads reports. Example: your content management system."),
		},
	}
	if p.IsOperator() {
		scopes = append(scopes, scopeChoice{
			core.ScopeAdmin, p.T("Full access"),
			p.T("Lists, people, imports and settings of this newsletter. Example: your own admin tool."),
		})
	}
	return scopes
}

// ScopeName returns a scope's name in the page's language.
func (p *Page) ScopeName(scope string) string {
	for _, o := range p.scopeOptions() {
		if o.Value == scope {
			return o.Text
		}
	}
	return scope
}

// apiUse holds the data for the example of using the API with a client.
type apiUse struct {
	Page         *Page
	Client, List string // IDs of the client and a list, or placeholders
}

// newAPIUse returns the example for a client, with the newsletter's first list.
func newAPIUse(p *Page, client string) apiUse {
	use := apiUse{p, client, "LIST_ID"}
	if lists, err := p.peopleLists(); err == nil && len(lists) > 0 {
		use.List = lists[0].ID
	}
	return use
}

// OwnScopes returns the names of a client's scopes that concern newsletters.
func (p *Page) OwnScopes(c core.Client) (names []string) {
	for _, s := range c.Scopes {
		if slices.Contains(core.ManagementScopes, s) {
			names = append(names, p.ScopeName(s))
		}
	}
	return names
}

func (o *Console) clients(p *Page) (web.HTML, error) { return p.showClients(filled{}, View{}) }

func (p *Page) showClients(f filled, v View) (web.HTML, error) {
	found, err := all[core.Client](p, apiClients, p.ofTenant("limit", "100"), maxClients)
	if err != nil {
		return web.HTML{}, err
	}
	if f.values == nil {
		f.values = map[string]string{"id_token_claims": "1"}
	}
	v.State = p.T("Apps and websites that use the API, each with its own secret")
	return p.showSettings("clients", "clients", v, f, clientsData{found, p.scopeOptions()})
}

func (p *Page) clientsAgain(_ filled, v View) (web.HTML, error) { return p.showClients(filled{}, v) }

// addClient registers an API client that acts for itself, or a site to which people sign in.
func (o *Console) addClient(p *Page) (web.HTML, error) {
	body := map[string]any{
		"tenant_id": p.Tenant.ID, "name": p.Form["name"], "client_type": core.ClientConfidential,
		"grant_types": []string{"client_credentials"},
	}
	scopes := []string{}
	for _, s := range p.scopeOptions() {
		if p.Form["scope."+s.Value] == "1" {
			scopes = append(scopes, s.Value)
		}
	}
	if uris := strings.Fields(p.Form["redirect_uris"]); len(uris) > 0 {
		body["redirect_uris"], body["id_token_claims"] = uris, p.Form["id_token_claims"] == "1"
		body["grant_types"] = []string{"authorization_code", "refresh_token", "client_credentials"}
		scopes = append(slices.Clone(core.UserScopes), scopes...)
	}
	body["scopes"] = scopes
	var made struct {
		ID     string `json:"id"`
		Secret string `json:"client_secret"`
	}
	if err := p.Do("POST", apiClients, body, &made); err != nil {
		return p.refused(err, func(f filled, v View) (web.HTML, error) {
			f.at, _, _ = strings.Cut(f.at, "[")
			return p.showClients(f, v)
		})
	}
	return p.showClientSecret(made.ID, made.Secret)
}

func (p *Page) showClientSecret(id, secret string) (web.HTML, error) {
	return p.showSettings("secret", "clients", View{
		Title: p.T("Client secret"), State: p.T("Copy it now. It won't be shown again."), Status: 201,
	}, filled{}, secretPage{id, secret, p.Path("settings", "clients")})
}

// secretPage holds a secret that is shown only once. It is neither in a URL nor stored.
type secretPage struct{ ID, Secret, Next string }

// theClient reads the API client in the path.
func (p *Page) theClient() (c core.Client, err error) {
	_, err = p.Get(apiClients+"/"+url.PathEscape(p.Param("id")), nil, &c)
	if err == nil && c.TenantID != p.Tenant.ID {
		err = web.ErrNotFound
	}
	return c, err
}

// rotateClient creates a new secret for an API client. The previous one stays valid for a day.
func (o *Console) rotateClient(p *Page) (web.HTML, error) {
	c, err := p.theClient()
	if err != nil {
		return web.HTML{}, err
	}
	const day = 24 * 60 * 60
	var changed struct {
		Secret string `json:"client_secret"`
	}
	err = p.Do("POST", apiClients+"/"+c.ID+"/rotate-secret", map[string]int{"overlap_seconds": day}, &changed)
	if err != nil {
		return p.refused(err, p.clientsAgain)
	}
	return p.showClientSecret(c.ID, changed.Secret)
}

// switchClient disables an API client, which invalidates its tokens, or enables it.
func (o *Console) switchClient(p *Page) (web.HTML, error) {
	if _, err := p.theClient(); err != nil {
		return web.HTML{}, err
	}
	if err := p.disableClient(); err != nil {
		return p.refused(err, p.clientsAgain)
	}
	return p.Redirect(p.Path("settings", "clients"), "saved")
}

// disableClient disables or enables the API client in the path, as the form says.
func (p *Page) disableClient() error {
	body := map[string]bool{"disabled": p.Form["disabled"] == "1"}
	return p.Do("PUT", apiClients+"/"+url.PathEscape(p.Param("id")), body, nil)
}

// ClientOrigin describes who created an API client and when.
func (p *Page) ClientOrigin(c core.Client) string { return p.Origin(c.CreatedByName, c.CreatedAt) }

// Origin describes who created a record and when. An empty who means that the creator is unknown.
func (p *Page) Origin(who string, at core.Instant) string {
	if who == "" {
		return p.T("Created on {{day}}", "day", p.Date(at))
	}
	return p.T("Created by {{who}} on {{day}}", "who", who, "day", p.Date(at))
}

func (o *Console) deleteClient(p *Page) (web.HTML, error) {
	if _, err := p.theClient(); err != nil {
		return web.HTML{}, err
	}
	return p.deleteFrom(apiClients, p.Path("settings", "clients"), p.clientsAgain)
}
