package tenants

import (
	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
	"newsletterd/store/tenants"
)

// webhookClients serves /api/admin/webhook-clients: the sources of signed webhooks.
type webhookClients struct{ store *store.Store }

// webhookClient is a webhook source. Its secret is set only in the response to the request that created the secret.
type webhookClient struct {
	ID         string       `json:"id"`
	TenantID   string       `json:"tenant_id,omitempty" about:"Tenant for which it can report; absent: every tenant"`
	Name       string       `json:"name"`
	DisabledAt core.Instant `json:"disabled_at,omitzero"`
	CreatedAt  core.Instant `json:"created_at"`
	UpdatedAt  core.Instant `json:"updated_at"`
	Secret     string       `json:"secret,omitempty"`
}

// webhookClientRoutes adds the routes for sources of signed webhooks.
func (r *Room) webhookClientRoutes(t *web.Table) {
	w := webhookClients{r.Store}
	const all, item = "/api/admin/webhook-clients", "/api/admin/webhook-clients/:id"
	may := core.ActionWebhookManage
	rows := web.Crud(t, all, "WebhookClient", "a webhook source", "webhook sources", web.Resource{
		Find: w.find, Missing: web.ErrNotFound, List: web.List(w.list, webhookClient.key),
		Create: web.JSON(w.create).Fails(core.NotFound, core.Conflict),
		Show:   web.Path(w.show), Update: web.JSON(w.update), Remove: web.Path(w.remove),
		May: web.Rights{Read: may, Create: may, Change: may, Remove: may},
	})
	rows.Create.Example(web.Object{"tenant_id": web.ExampleID, "name": "member service"}).
		Refuses(web.Clash("The tenant has reached its limit for webhook sources"))
	rows.Update.Example(web.Object{"name": "Shop", "disabled": false})
	t.Add("POST", item+"/rotate-secret", web.Admin(may), web.Member,
		web.Path(w.rotate).Find(w.find).Missing(web.ErrNotFound).Fails(core.Conflict),
		"Rotate the secret of a webhook source; the previous one stays valid until you revoke it").
		Named("rotateWebhookClientSecret").
		Refuses(web.TwoSecrets)
	t.Add("POST", item+"/end-old-secret", web.Admin(may), web.Member,
		web.Path(w.endOld).Find(w.find).Missing(web.ErrNotFound), "Revoke the previous secret of a webhook source").
		Named("endOldWebhookClientSecret")
}

func webhookClientOf(w *core.WebhookClient, secret string) webhookClient {
	return webhookClient{w.ID, w.TenantID, w.Name, w.DisabledAt, w.CreatedAt, w.UpdatedAt, secret}
}

func (w webhookClient) key() string { return w.ID }

func (a webhookClients) find(c *web.Call) error {
	w, err := a.store.WebhookClient(c, c.ID())
	return web.OwnRecord(c, w.TenantID, core.ActionWebhookManage, err, web.ErrNotFound)
}

func (a webhookClients) list(c *web.Call, in web.TenantFilter, page core.Page) ([]webhookClient, error) {
	found, err := web.PageFor(c, in, page, a.store.WebhookClientsAmong)
	return web.RowsOf(found, func(w *core.WebhookClient) webhookClient { return webhookClientOf(w, "") }), err
}

// newWebhookClient is the body of POST /api/admin/webhook-clients. If a server administrator leaves out the tenant, the
// source can report for all tenants.
type newWebhookClient struct {
	TenantID string `json:"tenant_id" about:"Tenant for which it can report; empty: your only tenant or, for server administrators, every tenant"`
	Name     string `json:"name" is:"required" like:"line" min:"1" max:"255"`
}

// CheckInput returns an error for a name that is empty or too long.
func (in *newWebhookClient) CheckInput() error {
	if in.Name == "" {
		return core.Invalidf("name", "name is missing.")
	}
	return web.CheckText("name", in.Name)
}

func (a webhookClients) create(c *web.Call, in newWebhookClient) (out webhookClient, err error) {
	tenant, err := web.TheTenant(c, in.TenantID)
	if err != nil {
		return out, err
	}
	secret := auth.NewSecret()
	key, err := auth.ParseSecret(secret)
	if err != nil {
		return out, err
	}
	w, err := a.store.AddWebhookClient(c, tenant, in.Name, key, web.Actor(c), c.Now)
	return webhookClientOf(&w, secret), web.UnknownTenant(err)
}

func (a webhookClients) show(c *web.Call, id string) (webhookClient, error) {
	return a.with(c, id, "")
}

func (a webhookClients) with(c *web.Call, id, secret string) (webhookClient, error) {
	w, err := a.store.WebhookClient(c, id)
	return webhookClientOf(&w, secret), err
}

// webhookClientChange is the body of PUT /api/admin/webhook-clients/:id. Absent fields stay unchanged.
type webhookClientChange struct {
	Name     *string `json:"name" like:"line" min:"1" max:"255"`
	Disabled *bool   `json:"disabled"`
}

// CheckInput returns an error for a name that is empty or too long.
func (in *webhookClientChange) CheckInput() error {
	if in.Name == nil {
		return nil
	}
	return (&newWebhookClient{Name: *in.Name}).CheckInput()
}

func (a webhookClients) update(c *web.Call, in webhookClientChange) (webhookClient, error) {
	err := a.store.UpdateWebhookClient(c, c.ID(), tenants.WebhookClientChange{Name: in.Name, Disabled: in.Disabled},
		web.Actor(c), c.Now)
	if err != nil {
		return webhookClient{}, err
	}
	return a.show(c, c.ID())
}

func (a webhookClients) remove(c *web.Call, id string) (web.None, error) {
	return web.None{}, a.store.DeleteWebhookClient(c, id, web.Actor(c), c.Now)
}

// rotate sets a source's new secret. The previous secret stays valid until endOld. Before that, the secret can't be
// rotated again.
func (a webhookClients) rotate(c *web.Call, id string) (webhookClient, error) {
	secret := auth.NewSecret()
	key, err := auth.ParseSecret(secret)
	if err == nil {
		err = a.store.RotateWebhookSecret(c, id, key, web.Actor(c), c.Now)
	}
	if err != nil {
		return webhookClient{}, err
	}
	return a.with(c, id, secret)
}

func (a webhookClients) endOld(c *web.Call, id string) (webhookClient, error) {
	if err := a.store.EndWebhookRotation(c, id, web.Actor(c), c.Now); err != nil {
		return webhookClient{}, err
	}
	return a.show(c, id)
}
