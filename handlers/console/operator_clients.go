package console

import (
	"net/url"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// operatorClientRoutes adds the routes for clients that belong to no tenant.
func (o *Console) operatorClientRoutes(t *web.Table) {
	o.operatorGet(t, "/clients", o.serverClients, "The console: API clients of the server")
	o.operatorPost(t, "/clients/:id", o.switchServerClient, "The console: disable or enable an API client of the server")
}

// serverClients lists the clients that belong to no tenant.
func (o *Console) serverClients(p *Page) (web.HTML, error) {
	var d struct {
		Clients []core.Client
		Pager   pager
	}
	q := url.Values{"limit": {"100"}, "server": {"true"}}
	if cursor := p.Query("cursor"); cursor != "" {
		q.Set("cursor", cursor)
	}
	next, err := p.Get(apiClients, q, &d.Clients)
	if err != nil {
		return web.HTML{}, err
	}
	d.Pager = p.Pager(next)
	return p.Show("server-clients", View{
		Title: p.T("API clients"), State: p.T("API clients that don't belong to a tenant. Create them with " +
			"newsletterd admin client create."),
		Data: &d,
	})
}

func (o *Console) switchServerClient(p *Page) (web.HTML, error) {
	if err := p.disableClient(); err != nil {
		return web.HTML{}, err
	}
	return p.Redirect(operatorPath("clients"), "saved")
}

// clientSwitch holds the data for the form that disables or enables a client.
type clientSwitch struct {
	Page   *Page
	Client core.Client
}

func newClientSwitch(p *Page, c core.Client) clientSwitch { return clientSwitch{p, c} }
