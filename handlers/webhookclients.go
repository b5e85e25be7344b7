package handlers

import (
	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
	"newsletterd/store/tenants"
)

// webhookClients serves /api/admin/webhook-clients: the senders of signed webhooks.
type webhookClients struct{ store *store.Store }

// webhookClient is a sender, with its secret in the one answer after that was made.
type webhookClient struct {
	ID         string       `json:"id"`
	TenantID   string       `json:"tenant_id,omitempty"` // empty: it speaks for every tenant
	Name       string       `json:"name"`
	DisabledAt core.Instant `json:"disabled_at,omitzero"`
	CreatedAt  core.Instant `json:"created_at"`
	UpdatedAt  core.Instant `json:"updated_at"`
	Secret     string       `json:"secret,omitempty"`
}

// webhookClientRoutes are the senders of signed webhooks.
func (h *Handler) webhookClientRoutes(t *web.Table) {
	w := webhookClients{h.options.Store}
	const all, item = "/api/admin/webhook-clients", "/api/admin/webhook-clients/:id"
	may := core.ActionWebhookManage
	r := crud(t, all, "WebhookClient", "a webhook source", "webhook sources", resource{
		w.find, web.ErrNotFound, web.List(w.list, webhookClient.key), web.JSON(w.create).Fails(core.NotFound, core.Conflict),
		web.Path(w.show), web.JSON(w.update), web.Path(w.remove),
		rights{may, may, may, may},
	})
	r.create.Example(web.Object{"tenant_id": exampleID, "name": "member service"}).
		Refuses(clash("The tenant has reached its limit for webhook sources"))
	r.update.Example(web.Object{"name": "Shop", "disabled": false})
	t.Add("POST", item+"/rotate-secret", admin(may), web.Member,
		web.Path(w.rotate).Find(w.find).Missing(web.ErrNotFound).Fails(core.Conflict),
		"Rotate the secret of a webhook source; the previous one stays valid until you end it").
		Named("rotateWebhookClientSecret").
		Refuses(twoSecrets)
	t.Add("POST", item+"/end-old-secret", admin(may), web.Member,
		web.Path(w.endOld).Find(w.find).Missing(web.ErrNotFound), "End the previous secret of a webhook source").
		Named("endOldWebhookClientSecret")
}

func webhookClientOf(w *core.WebhookClient, secret string) webhookClient {
	return webhookClient{w.ID, w.TenantID, w.Name, w.DisabledAt, w.CreatedAt, w.UpdatedAt, secret}
}

func (w webhookClient) key() string { return w.ID }

func (a webhookClients) find(c *web.Call) error {
	w, err := a.store.WebhookClient(c, c.ID())
	return ownRecord(c, w.TenantID, core.ActionWebhookManage, err, web.ErrNotFound)
}

func (a webhookClients) list(c *web.Call, in tenantFilter, page core.Page) ([]webhookClient, error) {
	found, err := pageFor(c, in, page, a.store.WebhookClientsAmong)
	return rowsOf(found, func(w *core.WebhookClient) webhookClient { return webhookClientOf(w, "") }), err
}

// newWebhookClient is the body of POST /api/admin/webhook-clients. Operators may leave the tenant out: the sender
// speaks for all.
type newWebhookClient struct {
	TenantID string `json:"tenant_id"`
	Name     string `json:"name" is:"required" like:"line" min:"1" max:"255"`
}

// CheckInput refuses a name that is empty or too long.
func (in *newWebhookClient) CheckInput() error {
	if in.Name == "" {
		return core.Invalidf("name", "name is missing.")
	}
	return checkText("name", in.Name)
}

func (a webhookClients) create(c *web.Call, in newWebhookClient) (out webhookClient, err error) {
	tenant, err := theTenant(c, in.TenantID)
	if err != nil {
		return out, err
	}
	secret := auth.NewSecret()
	key, err := auth.ParseSecret(secret)
	if err != nil {
		return out, err
	}
	w, err := a.store.AddWebhookClient(c, tenant, in.Name, key, actor(c), c.Now)
	return webhookClientOf(&w, secret), unknownTenant(err)
}

func (a webhookClients) show(c *web.Call, id string) (webhookClient, error) {
	return a.with(c, id, "")
}

func (a webhookClients) with(c *web.Call, id, secret string) (webhookClient, error) {
	w, err := a.store.WebhookClient(c, id)
	return webhookClientOf(&w, secret), err
}

// webhookClientChange is the body of PUT /api/admin/webhook-clients/:id; an absent field stays as it is.
type webhookClientChange struct {
	Name     *string `json:"name" like:"line" min:"1" max:"255"`
	Disabled *bool   `json:"disabled"`
}

// CheckInput refuses a name that is empty or too long.
func (in *webhookClientChange) CheckInput() error {
	if in.Name == nil {
		return nil
	}
	return (&newWebhookClient{Name: *in.Name}).CheckInput()
}

func (a webhookClients) update(c *web.Call, in webhookClientChange) (webhookClient, error) {
	err := a.store.UpdateWebhookClient(c, c.ID(), tenants.WebhookClientChange{Name: in.Name, Disabled: in.Disabled},
		actor(c), c.Now)
	if err != nil {
		return webhookClient{}, err
	}
	return a.show(c, c.ID())
}

func (a webhookClients) remove(c *web.Call, id string) (web.None, error) {
	return web.None{}, a.store.DeleteWebhookClient(c, id, actor(c), c.Now)
}

// rotate gives a sender another secret. The one before stays good until endOld, and until then there is no third.
func (a webhookClients) rotate(c *web.Call, id string) (webhookClient, error) {
	secret := auth.NewSecret()
	key, err := auth.ParseSecret(secret)
	if err == nil {
		err = a.store.RotateWebhookSecret(c, id, key, actor(c), c.Now)
	}
	if err != nil {
		return webhookClient{}, err
	}
	return a.with(c, id, secret)
}

func (a webhookClients) endOld(c *web.Call, id string) (webhookClient, error) {
	if err := a.store.EndWebhookRotation(c, id, actor(c), c.Now); err != nil {
		return webhookClient{}, err
	}
	return a.show(c, id)
}
