package handlers

import (
	"context"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// tenantRoutes are the tenants.
func (h *Handler) tenantRoutes(t *web.Table) {
	tenants := tenantsAPI{h.options.Store}
	r := crud(t, "/api/admin/tenants", "Tenant", "a tenant", "tenants", resource{
		tenants.find, web.ErrNotFound, web.List(tenants.list, func(t core.Tenant) string { return t.ID }),
		web.JSON(tenants.create).Fails(core.Conflict), web.Path(tenants.show), web.JSON(tenants.update).Fails(core.Conflict),
		web.Path(tenants.remove),
		rights{core.ActionTenantRead, core.ActionTenantManage, core.ActionTenantSettings, core.ActionTenantManage},
	})
	r.create.Requires("name").
		Example(web.Object{"name": "Acme", "domains": []string{"acme.example"}}).
		Refuses(saidByTenant...)
	r.update.Example(web.Object{
		"brand_name": "Acme Gardens", "brand_color": "#2f7d4f",
		"relays": []web.Object{{
			"name": "Postfix beside us", "host": "127.0.0.1", "port": 25, "tls": "none", "connections": 2,
			"mails_per_connection": 500, "dkim_skip": []string{"Reply-To"}, "limits": web.Object{"per_second": 10},
		}},
	}).
		Refuses(saidByTenant...)
}

// listRecordRoutes are the lists of tenants.
func (h *Handler) listRecordRoutes(t *web.Table) {
	lists := lists{h.options.Store, h.options.Newsletter.ConfirmToken}
	r := crud(t, "/api/admin/newsletter-lists", "NewsletterList", "a list", "lists", resource{
		lists.find, core.ErrListNotFound, web.List(lists.list, countedList),
		web.JSON(lists.create).Fails(core.NotFound), web.Path(lists.show), web.JSON(lists.update), web.Path(lists.remove),
		rights{core.ActionListRead, core.ActionListSettings, core.ActionListSettings, core.ActionListSettings},
	})
	r.create.Requires("name", "tenant_id").
		Example(web.Object{"tenant_id": exampleID, "name": "Monthly news"}).
		Refuses(saidByList...)
	r.update.Example(web.Object{
		"language": "en", "consent_text": "I would like to get this newsletter.",
		"fields": []web.Object{
			{"name": "plan", "label": "Plan", "type": "choice", "options": []string{"free", "paid"}, "required": true},
			{"name": "first_name", "label": "First name", "type": "text", "required": false},
		},
	}).
		Refuses(saidByList...)
}

// clientRoutes are the OAuth clients of tenants.
func (h *Handler) clientRoutes(t *web.Table) {
	clients := clients{h.options.Store}
	r := crud(t, "/api/admin/oauth-clients", "OAuthClient", "an OAuth client", "OAuth clients", resource{
		clients.find, web.ErrNotFound, web.List(clients.list, func(c core.Client) string { return c.ID }),
		web.JSON(clients.create).Fails(core.NotFound), web.Path(clients.show), web.JSON(clients.update),
		web.Path(clients.remove),
		rights{core.ActionClientManage, core.ActionClientManage, core.ActionClientManage, core.ActionClientManage},
	})
	r.create.Requires("name").
		Example(web.Object{
			"tenant_id": exampleID, "name": "Shop", "client_type": "public",
			"redirect_uris": []string{"https://app.example.org/callback"},
		}).
		Refuses(saidByClient...)
	r.update.Example(web.Object{"redirect_uris": []string{
		"https://app.example.org/callback",
		"https://app.example.org/again",
	}}).
		Refuses(saidByClient...)
}

// clientSecretRoutes are the secrets of OAuth clients.
func (h *Handler) clientSecretRoutes(t *web.Table) {
	a := clients{h.options.Store}
	const item = "/api/admin/oauth-clients/:id"
	one := func(e web.Endpoint) web.Endpoint { return e.Find(a.find).Missing(web.ErrNotFound) }
	t.Add("POST", item+"/rotate-secret", admin(core.ActionClientSecret), web.Member,
		one(web.JSON(a.rotate).BodyOptional()).Fails(core.Conflict),
		"Rotate the secret of an OAuth client; the previous one ends or stays valid for a while").
		Named("rotateOAuthClientSecret").
		Example(web.Object{"overlap_seconds": 86400}).
		Refuses(twoSecrets, clash("Public clients have no secret"))
	t.Add("POST", item+"/end-old-secret", admin(core.ActionClientSecret), web.Member,
		one(web.Path(a.endOld)).Fails(core.Conflict),
		"End the previous secret of an OAuth client").Named("endOldOAuthClientSecret").
		Refuses(clash("Public clients have no secret"))
}

// actor names the caller in the audit trail.
func actor(c *web.Call) string { return actorOf(c.Caller) }

func actorOf(caller core.Caller) string {
	if caller.UserID != "" {
		return core.UserActor(caller.UserID)
	}
	return core.ClientActor(caller.ClientID)
}

// isOperator reports whether the caller may do everything.
func isOperator(c *web.Call) bool { return c.Caller.May(core.ActionTenantManage, core.TenantNone) }

// ownRecord turns the record of a tenant that the caller may not see into missing: it answers as one that isn't there.
// Who may see it, and not do what the route is for, is refused.
func ownRecord(c *web.Call, tenant string, see core.Action, err error, missing *core.Error) error {
	switch {
	case core.KindOf(err) == core.NotFound:
		return missing
	case err != nil:
		return err
	case c.Caller.May(c.Action(), tenant):
		c.Tenant = tenant
		return nil
	case c.Caller.May(see, tenant):
		return core.Lacking(c.Action())
	}
	return missing
}

// tenantFilter narrows a list to one tenant.
type tenantFilter struct {
	TenantID string `query:"tenant_id"`
}

// tenantsFor lists the tenants that a list is read for.
func tenantsFor(c *web.Call, f tenantFilter) (tenants []string, all bool, err error) {
	if f.TenantID == "" {
		tenants, all = c.Caller.TenantsWith(c.Action())
		return tenants, all, nil
	}
	return []string{f.TenantID}, false, mayFor(c, f.TenantID)
}

// pageFor reads a page of the records of those tenants.
func pageFor[T any](c *web.Call, f tenantFilter, page core.Page,
	read func(ctx context.Context, tenants []string, all bool, page core.Page) ([]T, error),
) ([]T, error) {
	tenants, all, err := tenantsFor(c, f)
	if err != nil {
		return nil, err
	}
	return read(c, tenants, all, page)
}

// rowsOf makes the rows of an answer of records.
func rowsOf[T, R any](records []T, row func(*T) R) []R {
	rows := make([]R, len(records))
	for i := range records {
		rows[i] = row(&records[i])
	}
	return rows
}

// mayFor refuses a tenant, existing or not, for which the caller may not do what the route is for.
func mayFor(c *web.Call, tenant string) error {
	switch {
	case c.Caller.May(c.Action(), tenant):
		return nil
	case c.Caller.May(core.ActionFiguresRead, tenant):
		return core.Lacking(c.Action())
	}
	return core.Forbiddenf("You don't have access to this tenant. Ask one of its administrators.")
}

// tenantsAPI serves /api/admin/tenants.
type tenantsAPI struct{ store *store.Store }

func (a tenantsAPI) find(c *web.Call) error {
	_, err := a.store.Tenant(c, c.ID())
	return ownRecord(c, c.ID(), core.ActionTenantRead, err, web.ErrNotFound)
}

func (a tenantsAPI) list(c *web.Call, _ struct{}, page core.Page) ([]core.Tenant, error) {
	ids, all := c.Caller.TenantsWith(c.Action())
	found, err := a.store.Tenants(c, ids, all, page)
	for i := range found {
		found[i] = shownTenant(c, found[i])
	}
	return found, err
}

func (a tenantsAPI) create(c *web.Call, in core.TenantInput) (core.Tenant, error) {
	t, err := core.NewTenant(in, c.Now)
	if err == nil && t.AsksProof(&core.Tenant{}) {
		err = c.FreshProof()
	}
	if err != nil {
		return t, err
	}
	c.Tenant = t.ID
	return t, a.store.AddTenant(c, t, actor(c))
}

func (a tenantsAPI) show(c *web.Call, id string) (core.Tenant, error) {
	t, err := a.store.Tenant(c, id)
	return shownTenant(c, t), err
}

// shownTenant returns a tenant as the caller may see it: its relays are for those who keep its settings, the addresses
// of its test group for those who may send tests to it.
func shownTenant(c *web.Call, t core.Tenant) core.Tenant {
	if !c.Caller.May(core.ActionTestSend, t.ID) {
		t.TestAddresses = nil
	}
	if !c.Caller.May(core.ActionTenantSettings, t.ID) {
		t.Relays = nil
	}
	return t
}

func (a tenantsAPI) update(c *web.Call, in core.TenantInput) (core.Tenant, error) {
	return a.store.UpdateTenant(c, c.ID(), actor(c), func(t *core.Tenant) error {
		was := *t
		err := t.Change(in, isOperator(c), c.Now)
		if err == nil && t.AsksProof(&was) {
			err = c.FreshProof() // else a stolen token sends without the second person, or by a server of its own
		}
		return err
	})
}

func (a tenantsAPI) remove(c *web.Call, id string) (web.None, error) {
	return web.None{}, a.store.DeleteTenant(c, id, actor(c), c.Now)
}

// lists serves /api/admin/newsletter-lists.
type lists struct {
	store        *store.Store
	confirmToken string // the configured default of confirm_token
}

func (a lists) find(c *web.Call) error {
	l, err := a.store.List(c, c.ID())
	return ownRecord(c, l.TenantID, core.ActionListRead, err, core.ErrListNotFound)
}

func (a lists) list(c *web.Call, in tenantFilter, page core.Page) ([]core.CountedList, error) {
	return pageFor(c, in, page, a.store.CountedLists)
}

// countedList is the key that lists are ordered by.
func countedList(l core.CountedList) string { return l.ID }

// mayGive refuses a tenant_id of a new record that isn't the caller's, existing or not.
func mayGive(c *web.Call, tenant string) error {
	c.Tenant = tenant
	return mayFor(c, tenant)
}

// unknownTenant is what an operator is told about a tenant_id that is none.
func unknownTenant(err error) error {
	if core.KindOf(err) == core.NotFound {
		return &core.Error{
			Kind: core.NotFound, Code: "not_found",
			Message: "Tenant not found. It may have been deleted, or you don't have access.",
			Field:   "tenant_id",
		}
	}
	return err
}

func (a lists) create(c *web.Call, in core.ListInput) (core.List, error) {
	l, err := core.NewList(in, c.Now)
	if err != nil {
		return l, err
	}
	if err := mayGive(c, l.TenantID); err != nil {
		return l, err
	}
	if err := a.held(c, &l, core.List{}); err != nil {
		return l, err
	}
	return l, unknownTenant(a.store.AddList(c, l, actor(c)))
}

func (a lists) show(c *web.Call, id string) (core.CountedList, error) {
	return a.store.CountedList(c, id)
}

func (a lists) update(c *web.Call, in core.ListInput) (core.List, error) {
	return a.store.UpdateList(c, c.ID(), actor(c), func(l *core.List) error {
		was := *l
		if err := l.Change(in, c.Now); err != nil {
			return err
		}
		return a.held(c, l, was)
	})
}

// held holds what others than operators make of a list against the operator's setting.
func (a lists) held(c *web.Call, l *core.List, was core.List) error {
	if isOperator(c) {
		return nil
	}
	return l.HoldConfirmToken(was, a.confirmToken)
}

func (a lists) remove(c *web.Call, id string) (web.None, error) {
	return web.None{}, a.store.DeleteList(c, id, actor(c), c.Now)
}

// clients serves /api/admin/oauth-clients.
type clients struct{ store *store.Store }

// clientReply is a client as it was changed, and its secret in the one answer after it was made.
type clientReply struct {
	core.Client
	Secret   string   `json:"client_secret,omitempty"`
	Warnings []string `json:"warnings,omitempty"` // what it is registered for and can't do
}

func (a clients) find(c *web.Call) error {
	client, err := a.store.Client(c, c.ID())
	return ownRecord(c, client.TenantID, core.ActionClientManage, err, web.ErrNotFound)
}

// clientFilter narrows the list of clients.
type clientFilter struct {
	TenantID string `query:"tenant_id"`
	Server   bool   `query:"server"` // only those that belong to no tenant
}

func (a clients) list(c *web.Call, in clientFilter, page core.Page) ([]core.Client, error) {
	if !in.Server {
		return pageFor(c, tenantFilter{in.TenantID}, page, a.store.Clients)
	}
	if in.TenantID != "" {
		return nil, core.Invalidf("server", "Set either server or tenant_id, not both.")
	}
	if err := mayFor(c, core.TenantNone); err != nil {
		return nil, err
	}
	return a.store.Clients(c, []string{core.TenantNone}, false, page)
}

func (a clients) create(c *web.Call, in core.ClientInput) (clientReply, error) {
	client, secret, err := core.NewClient(in, isOperator(c), c.Now)
	if err == nil {
		err = mayGive(c, client.TenantID)
	}
	if err != nil {
		return clientReply{}, err
	}
	client.CreatedBy = actor(c)
	return clientReply{client, secret, client.Warnings()}, unknownTenant(a.store.AddClient(c, client, actor(c)))
}

func (a clients) show(c *web.Call, id string) (core.Client, error) { return a.store.Client(c, id) }

func (a clients) update(c *web.Call, in core.ClientInput) (clientReply, error) {
	var secret string
	client, err := a.store.UpdateClient(c, c.ID(), actor(c), func(client *core.Client) (err error) {
		secret, err = client.Change(in, isOperator(c), c.Now)
		return err
	})
	return clientReply{client, secret, client.Warnings()}, err
}

// rotate gives a client another secret; an overlap lets the one before stay good for a while.
func (a clients) rotate(c *web.Call, in secretOverlap) (clientReply, error) {
	var secret string
	client, err := a.store.UpdateClient(c, c.ID(), actor(c), func(client *core.Client) (err error) {
		secret, err = client.RotateSecret(in.or(0), isOperator(c), c.Now)
		return err
	})
	return clientReply{client, secret, client.Warnings()}, err
}

func (a clients) endOld(c *web.Call, id string) (core.Client, error) {
	return a.store.UpdateClient(c, id, actor(c), func(client *core.Client) error {
		return client.EndOldSecret(isOperator(c), c.Now)
	})
}

func (a clients) remove(c *web.Call, id string) (web.None, error) {
	client, err := a.store.Client(c, id)
	if err != nil {
		return web.None{}, err
	}
	if client.FirstParty && !isOperator(c) {
		return web.None{}, core.Forbiddenf("Only server administrators can delete a first-party client.")
	}
	return web.None{}, a.store.DeleteClient(c, id, actor(c), c.Now)
}
