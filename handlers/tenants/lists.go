package tenants

import (
	"newsletterd/core"
	"newsletterd/handlers/web"
)

// listRoutes adds the routes for newsletter lists.
func (r *Room) listRoutes(t *web.Table) {
	lists := lists{r}
	rows := web.Crud(t, "/api/admin/newsletter-lists", "NewsletterList", "a list", "lists", web.Resource{
		Find: FindList, Missing: core.ErrListNotFound, List: web.List(lists.list, countedList),
		Create: web.JSON(lists.create).Fails(core.NotFound), Show: web.Path(lists.show), Update: web.JSON(lists.update),
		Remove: web.Path(lists.remove),
		May: web.Rights{
			Read: core.ActionListRead, Create: core.ActionListSettings, Change: core.ActionListSettings,
			Remove: core.ActionListSettings,
		},
	})
	rows.Create.Requires("name", "tenant_id").
		Example(web.Object{"tenant_id": web.ExampleID, "name": "Monthly news"}).
		Refuses(saidByList...)
	rows.Update.Example(web.Object{
		"language": "en", "consent_text": "I would like to get this newsletter.",
		"fields": []web.Object{
			{"name": "plan", "label": "Plan", "type": "choice", "options": []string{"free", "paid"}, "required": true},
			{"name": "first_name", "label": "First name", "type": "text", "required": false},
		},
	}).
		Refuses(saidByList...)
}

// lists serves /api/admin/newsletter-lists.
type lists struct{ *Room }

// FindList looks up the list in a request's path. It returns an error if the caller may not perform the route's action
// on it.
func FindList(c *web.Call) error {
	l, err := c.Store().List(c, c.ID())
	return web.OwnRecord(c, l.TenantID, core.ActionListRead, err, core.ErrListNotFound)
}

func (a lists) list(c *web.Call, in web.TenantFilter, page core.Page) ([]core.CountedList, error) {
	return web.PageFor(c, in, page, a.Store.CountedLists)
}

// countedList returns the sort key for lists.
func countedList(l core.CountedList) string { return l.ID }

func (a lists) create(c *web.Call, in core.ListInput) (core.List, error) {
	l, err := core.NewList(in, c.Now)
	if err != nil {
		return l, err
	}
	if err := web.MayGive(c, l.TenantID); err != nil {
		return l, err
	}
	if err := a.held(c, &l, core.List{}); err != nil {
		return l, err
	}
	return l, web.UnknownTenant(a.Store.AddList(c, l, web.Actor(c)))
}

func (a lists) show(c *web.Call, id string) (core.CountedList, error) {
	return a.Store.CountedList(c, id)
}

func (a lists) update(c *web.Call, in core.ListInput) (core.List, error) {
	return a.Store.UpdateList(c, c.ID(), web.Actor(c), func(l *core.List) error {
		was := *l
		if err := l.Change(in, c.Now); err != nil {
			return err
		}
		return a.held(c, l, was)
	})
}

// held returns an error if a list's confirm_token becomes less strict than the configuration allows. Server
// administrators may set any value.
func (a lists) held(c *web.Call, l *core.List, was core.List) error {
	if web.IsOperator(c) {
		return nil
	}
	return l.HoldConfirmToken(was, a.ConfirmToken)
}

func (a lists) remove(c *web.Call, id string) (web.None, error) {
	return web.None{}, a.Store.DeleteList(c, id, web.Actor(c), c.Now)
}
