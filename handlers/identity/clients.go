package identity

import (
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// clientRoutes adds the routes for OAuth clients of tenants.
func (r *Room) clientRoutes(t *web.Table) {
	clients := clients{r.Store}
	rows := web.Crud(t, "/api/admin/oauth-clients", "OAuthClient", "an OAuth client", "OAuth clients", web.Resource{
		Find: clients.find, Missing: web.ErrNotFound, List: web.List(clients.list,
			func(c core.Client) string { return c.ID }),
		Create: web.JSON(clients.create).Fails(core.NotFound), Show: web.Path(clients.show),
		Update: web.JSON(clients.update),
		Remove: web.Path(clients.remove),
		May: web.Rights{
			Read: core.ActionClientManage, Create: core.ActionClientManage, Change: core.ActionClientManage,
			Remove: core.ActionClientManage,
		},
	})
	rows.Create.Requires("name").
		Example(web.Object{
			"tenant_id": web.ExampleID, "name": "Shop", "client_type": "public",
			"redirect_uris": []string{"https://app.example.org/callback"},
		}).
		Refuses(saidByClient...)
	rows.Update.Example(web.Object{"redirect_uris": []string{
		"https://app.example.org/callback",
		"https://app.example.org/again",
	}}).
		Refuses(saidByClient...)
}

// clientSecretRoutes adds the routes for the secrets of OAuth clients.
func (r *Room) clientSecretRoutes(t *web.Table) {
	a := clients{r.Store}
	const item = "/api/admin/oauth-clients/:id"
	one := func(e web.Endpoint) web.Endpoint { return e.Find(a.find).Missing(web.ErrNotFound) }
	t.Add("POST", item+"/rotate-secret", web.Admin(core.ActionClientSecret), web.Member,
		one(web.JSON(a.rotate).BodyOptional()).Fails(core.Conflict),
		"Rotate the secret of an OAuth client; the previous one ends or stays valid for a while").
		Named("rotateOAuthClientSecret").
		Example(web.Object{"overlap_seconds": 86400}).
		Refuses(web.TwoSecrets, web.Clash("Public clients have no secret"))
	t.Add("POST", item+"/end-old-secret", web.Admin(core.ActionClientSecret), web.Member,
		one(web.Path(a.endOld)).Fails(core.Conflict),
		"Revoke the previous secret of an OAuth client").Named("endOldOAuthClientSecret").
		Refuses(web.Clash("Public clients have no secret"))
}

// clients serves /api/admin/oauth-clients.
type clients struct{ store *store.Store }

// OAuthClientWithSecret is a client after a change. Secret is set only in the response to the request that created the
// secret. The type is exported because it gives the schema in the OpenAPI document its name.
type OAuthClientWithSecret struct {
	core.Client
	Secret   string   `json:"client_secret,omitempty" about:"New secret, shown only once; absent: none was created"`
	Warnings []string `json:"warnings,omitempty" about:"Settings that have no effect, and why; absent: none"`
}

func (a clients) find(c *web.Call) error {
	client, err := a.store.Client(c, c.ID())
	return web.OwnRecord(c, client.TenantID, core.ActionClientManage, err, web.ErrNotFound)
}

// clientFilter filters the list of clients.
type clientFilter struct {
	TenantID string `query:"tenant_id"`
	Server   bool   `query:"server" about:"Only clients without a tenant, which belong to the server"`
}

func (a clients) list(c *web.Call, in clientFilter, page core.Page) ([]core.Client, error) {
	if !in.Server {
		return web.PageFor(c, web.TenantFilter{TenantID: in.TenantID}, page, a.store.Clients)
	}
	if in.TenantID != "" {
		return nil, core.Invalidf("server", "Set either server or tenant_id, not both.")
	}
	if err := web.MayFor(c, core.TenantNone); err != nil {
		return nil, err
	}
	return a.store.Clients(c, []string{core.TenantNone}, false, page)
}

func (a clients) create(c *web.Call, in core.ClientInput) (OAuthClientWithSecret, error) {
	client, secret, err := core.NewClient(in, web.IsOperator(c), c.Now)
	if err == nil {
		err = web.MayGive(c, client.TenantID)
	}
	if err != nil {
		return OAuthClientWithSecret{}, err
	}
	client.CreatedBy = web.Actor(c)
	err = web.UnknownTenant(a.store.AddClient(c, client, web.Actor(c)))
	return OAuthClientWithSecret{client, secret, client.Warnings()}, err
}

func (a clients) show(c *web.Call, id string) (core.Client, error) { return a.store.Client(c, id) }

func (a clients) update(c *web.Call, in core.ClientInput) (OAuthClientWithSecret, error) {
	var secret string
	client, err := a.store.UpdateClient(c, c.ID(), web.Actor(c), func(client *core.Client) (err error) {
		secret, err = client.Change(in, web.IsOperator(c), c.Now)
		return err
	})
	return OAuthClientWithSecret{client, secret, client.Warnings()}, err
}

// rotate creates a new secret for a client. The previous one stays valid for the requested overlap.
func (a clients) rotate(c *web.Call, in web.SecretOverlap) (OAuthClientWithSecret, error) {
	var secret string
	client, err := a.store.UpdateClient(c, c.ID(), web.Actor(c), func(client *core.Client) (err error) {
		secret, err = client.RotateSecret(in.Or(0), web.IsOperator(c), c.Now)
		return err
	})
	return OAuthClientWithSecret{client, secret, client.Warnings()}, err
}

func (a clients) endOld(c *web.Call, id string) (core.Client, error) {
	return a.store.UpdateClient(c, id, web.Actor(c), func(client *core.Client) error {
		return client.EndOldSecret(web.IsOperator(c), c.Now)
	})
}

func (a clients) remove(c *web.Call, id string) (web.None, error) {
	client, err := a.store.Client(c, id)
	if err != nil {
		return web.None{}, err
	}
	if client.FirstParty && !web.IsOperator(c) {
		return web.None{}, core.Forbiddenf("Only server administrators can delete a first-party client. Ask one of " +
			"them.")
	}
	return web.None{}, a.store.DeleteClient(c, id, web.Actor(c), c.Now)
}

// saidByClient holds the refusals for an OAuth client's fields.
var saidByClient = []web.Refusal{
	web.FixedID, web.FixedTenant,
	web.Refused("redirect_uris[]", "Not an https URL, a loopback URL or a private-use scheme"),
	web.Refused("post_logout_redirect_uris[]", "Not an https URL, a loopback URL or a private-use scheme"),
	web.Refused("require_pkce", "Public clients need PKCE"),
	web.Refused("grant_types", "Public clients can't use this grant"),
	web.Refused("token_endpoint_auth_method", "Doesn't match the client's client_type"),
}
