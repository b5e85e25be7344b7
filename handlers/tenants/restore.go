package tenants

import (
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// restoring serves deleted tenants and lists, which can be restored within core.RestorableFor.
type restoring struct{ store *store.Store }

// restoreRoutes adds the routes for deleted tenants and lists.
func (r *Room) restoreRoutes(t *web.Table) {
	a := restoring{r.Store}
	key := func(d core.Deleted) string { return d.ID }
	t.Add("GET", "/api/admin/deleted-tenants", web.Admin(core.ActionTenantManage), web.Member, web.List(a.tenants, key),
		"List deleted tenants that can be restored").Named("listDeletedTenants")
	t.Add("POST", "/api/admin/tenants/:id/restore", web.Admin(core.ActionTenantManage), web.Member,
		web.Path(a.restoreTenant).Find(a.findTenant).Missing(web.ErrNotFound),
		"Restore a tenant deleted in the last 30 days; its clients and webhook endpoints stay disabled").
		Named("restoreTenant")
	t.Add("GET", "/api/admin/deleted-newsletter-lists", web.Admin(core.ActionListSettings), web.Member,
		web.List(a.lists, key), "List deleted lists that can be restored").Named("listDeletedNewsletterLists")
	t.Add("POST", "/api/admin/newsletter-lists/:id/restore", web.Admin(core.ActionListSettings), web.Member,
		web.Path(a.restoreList).Find(a.findList).Missing(core.ErrListNotFound),
		"Restore a list deleted in the last 30 days; send jobs stay canceled").Named("restoreNewsletterList")
}

func (a restoring) tenants(c *web.Call, _ struct{}, page core.Page) ([]core.Deleted, error) {
	return a.store.DeletedTenants(c, c.Now, page)
}

func (a restoring) findTenant(c *web.Call) error {
	_, err := a.store.DeletedTenant(c, c.ID(), c.Now)
	return web.OwnRecord(c, c.ID(), core.ActionTenantRead, err, web.ErrNotFound)
}

func (a restoring) restoreTenant(c *web.Call, id string) (core.Restored, error) {
	return a.store.RestoreTenant(c, id, web.Actor(c), c.Now)
}

func (a restoring) lists(c *web.Call, in web.TenantFilter, page core.Page) ([]core.Deleted, error) {
	tenants, all, err := web.TenantsFor(c, in)
	if err != nil {
		return nil, err
	}
	return a.store.DeletedLists(c, tenants, all, c.Now, page)
}

func (a restoring) findList(c *web.Call) error {
	d, err := a.store.DeletedList(c, c.ID(), c.Now)
	return web.OwnRecord(c, d.TenantID, core.ActionListRead, err, core.ErrListNotFound)
}

func (a restoring) restoreList(c *web.Call, id string) (core.Restored, error) {
	return a.store.RestoreList(c, id, web.Actor(c), c.Now)
}
