package handlers

import "newsletterd/core"

// table is every endpoint of the program, one line each:
//
//	method, path, who may call, form of errors, typed function, summary
//
// The same rows feed the router, the OpenAPI documents, `newsletterd routes`, the metrics labels and
// the tests. Each area has a function, so that none grows long.
func (h *Handler) table() []*Route {
	var t rows
	h.adminRoutes(&t)
	h.operationRoutes(&t)
	return t
}

// rows collects the lines of the table.
type rows []*Route

func (t *rows) add(method, path string, who Access, d Dialect, do Endpoint, summary string) {
	*t = append(*t, &Route{method, path, who, d, do, summary})
}

// resource is the five operations on one kind of admin record.
type resource struct {
	find                               func(*Call) error
	missing                            *core.Error
	list, create, show, update, remove Endpoint
}

// crud adds the five lines of a resource. Its records are found before a body is read, so that a foreign
// record is 404 whatever the body is.
func (t *rows) crud(path, one, many string, r resource) {
	item := path + "/:id"
	t.add("GET", path, admin(), member, r.list, "List "+many)
	t.add("POST", path, admin(), member, r.create.Created(), "Create "+one)
	t.add("GET", item, admin(), member, r.show.Find(r.find).Missing(r.missing), "Show "+one)
	t.add("PUT", item, admin(), member, r.update.Find(r.find).Missing(r.missing), "Change "+one+"; absent fields stay as they are")
	t.add("DELETE", item, admin(), member, r.remove.Find(r.find).Missing(r.missing), "Delete "+one)
}

// adminRoutes are the records that operators and administrators of a tenant keep.
func (h *Handler) adminRoutes(t *rows) {
	tenants, lists, clients := tenants{h.options.Store}, lists{h.options.Store}, clients{h.options.Store}
	t.crud("/api/admin/tenants", "a tenant", "tenants", resource{
		tenants.find, errNotFound, List(tenants.list, func(t core.Tenant) string { return t.ID }),
		JSON(tenants.create), Path(tenants.show), JSON(tenants.update), Path(tenants.remove),
	})
	t.crud("/api/admin/newsletter-lists", "a list", "lists", resource{
		lists.find, core.ErrListNotFound, List(lists.list, func(l core.List) string { return l.ID }),
		JSON(lists.create).Fails(core.NotFound), Path(lists.show), JSON(lists.update), Path(lists.remove),
	})
	t.crud("/api/admin/oauth-clients", "an OAuth client", "OAuth clients", resource{
		clients.find, errNotFound, List(clients.list, func(c core.Client) string { return c.ID }),
		JSON(clients.create).Fails(core.NotFound), Path(clients.show), JSON(clients.update), Path(clients.remove),
	})
}

// operationRoutes are for those who run the daemon.
func (h *Handler) operationRoutes(t *rows) {
	t.add("GET", "/healthz", public(), send, Get(h.health), "Health of the daemon")
	for _, d := range documents {
		t.add("GET", d.path, public(), member, Get(h.openAPI(d.name)), "OpenAPI document: "+d.title)
	}
}
