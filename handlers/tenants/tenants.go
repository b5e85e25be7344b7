package tenants

import (
	"slices"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// tenantRoutes adds the routes for tenants.
func (r *Room) tenantRoutes(t *web.Table) {
	tenants := tenantsAPI{r.Store}
	rows := web.Crud(t, "/api/admin/tenants", "Tenant", "a tenant", "tenants", web.Resource{
		Find: tenants.find, Missing: web.ErrNotFound, List: web.List(tenants.list,
			func(t core.Tenant) string { return t.ID }),
		Create: web.JSON(tenants.create).Fails(core.Conflict), Show: web.Path(tenants.show),
		Update: web.JSON(tenants.update).Fails(core.Conflict),
		Remove: web.Path(tenants.remove),
		May: web.Rights{
			Read: core.ActionTenantRead, Create: core.ActionTenantManage, Change: core.ActionTenantSettings,
			Remove: core.ActionTenantManage,
		},
	})
	rows.Create.Requires("name").
		Example(web.Object{"name": "Acme", "domains": []string{"acme.example"}}).
		Refuses(saidByTenant...)
	rows.Update.Example(web.Object{
		"brand_name": "Acme Gardens", "brand_color": "#2f7d4f",
		"relays": []web.Object{{
			"name": "Postfix beside us", "host": "127.0.0.1", "port": 25, "tls": "none", "connections": 2,
			"mails_per_connection": 500, "dkim_skip": []string{"Reply-To"}, "limits": web.Object{"per_second": 10},
		}},
	}).
		Refuses(saidByTenant...)
}

// tenantsAPI serves /api/admin/tenants.
type tenantsAPI struct{ store *store.Store }

func (a tenantsAPI) find(c *web.Call) error {
	_, err := a.store.Tenant(c, c.ID())
	return web.OwnRecord(c, c.ID(), core.ActionTenantRead, err, web.ErrNotFound)
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
	return t, a.store.AddTenant(c, t, web.Actor(c))
}

func (a tenantsAPI) show(c *web.Call, id string) (core.Tenant, error) {
	t, err := a.store.Tenant(c, id)
	return shownTenant(c, t), err
}

// shownTenant returns the part of a tenant that the caller may see. The relays require permission to change the
// tenant's settings. The addresses in the test group require permission to send tests to it.
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
	return a.store.UpdateTenant(c, c.ID(), web.Actor(c), func(t *core.Tenant) error {
		was := *t
		err := t.Change(in, web.IsOperator(c), c.Now)
		if err == nil && t.AsksProof(&was) {
			err = c.FreshProof() // otherwise, a stolen token could remove the approval or set a mail server
		}
		return err
	})
}

func (a tenantsAPI) remove(c *web.Call, id string) (web.None, error) {
	return web.None{}, a.store.DeleteTenant(c, id, web.Actor(c), c.Now)
}

// mailTexts lists the emails whose text tenants and lists can customize.
var mailTexts = []string{"confirm", "subscribed", "unsubscribed", "preferences"}

// ofMailTexts returns the OpenAPI refusals for custom email text.
func ofMailTexts() (out []web.Refusal) {
	for _, of := range mailTexts {
		for _, part := range []string{".subject", ".text"} {
			out = append(out, web.Refused("mail_texts."+of+part, "Contains an unknown placeholder"))
		}
	}
	return out
}

// saidByList holds the refusals for a list's fields.
var saidByList = slices.Concat(ofMailTexts(), []web.Refusal{
	web.FixedID, web.FixedTenant,
	web.Refused("signup_tag_id", "The tenant has no such tag"),
	web.Refused("fields[].name", "The name is used twice, or is email or source"),
	web.Refused("fields[].options[]", "The value appears twice"),
	web.Refused("slug", "Another list on this host uses this slug"),
	web.Refused("subscribe_redirect_url", "Not an absolute https URL (http is only allowed for localhost)"),
	web.Refused("confirm_redirect_url", "Not an absolute https URL (http is only allowed for localhost)"),
	web.Refused("unsubscribe_redirect_url", "Not an absolute https URL (http is only allowed for localhost)"),
})

// saidByTenant holds the refusals for a tenant's fields.
var saidByTenant = slices.Concat(ofMailTexts(), []web.Refusal{
	web.FixedID,
	web.Refused("domains[]", "Not a domain name"),
	web.Clashing("domain_taken", "domains", "The domain or its parent is verified for another tenant"),
	web.Refused("mail_from", "Not a valid address, or not at one of the tenant's domains"),
	web.Refused("reply_to", "Not a valid email address"),
	web.Refused("test_addresses", "Contains an invalid email address"),
	web.Refused("public_url", "Not an origin, not on one of the tenant's domains, or used by another tenant"),
	web.Refused("brand_name", "Contains a URL, a host name or an email address"),
	web.Refused("brand_logo_url", "Not an absolute https URL (http is only allowed for localhost)"),
	web.Refused("brand_dark_logo_url", "Not an absolute https URL (http is only allowed for localhost)"),
	web.Refused("brand_color", "Not a color of the form #rrggbb"),
	web.Refused("privacy_url", "Not an absolute URL with a full host name"),
	web.Refused("relays[].host", "Not a host name or an IP address"),
	web.Refused("relays[].port", "Not a valid port"),
	web.Refused("relays[].tls", "none is only allowed for a relay on the same machine"),
	web.Refused("relays[].password", "Username and password must be set together, without control characters"),
	web.Refused("relays[].dkim_skip", "Contains an invalid header field name"), web.NoZone, web.ThereIsOne,
})
