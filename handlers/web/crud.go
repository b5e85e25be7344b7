package web

import "newsletterd/core"

// Rights holds the actions required for the operations on a kind of record.
type Rights struct{ Read, Create, Change, Remove core.Action }

// Resource holds the five endpoints for one kind of admin record.
type Resource struct {
	Find                               func(*Call) error
	Missing                            *core.Error
	List, Create, Show, Update, Remove Endpoint
	May                                Rights
	Who                                func(core.Action) Access // nil: Admin
}

// resourceRows holds the routes that Crud added for a resource, so that the caller can complete them.
type resourceRows struct{ List, Create, show, Update, Remove *Route }

// Crud adds a resource's five routes to the table. name becomes part of their operation names. The routes look up the
// record before they read the body. For another tenant's record, the response is therefore always 404.
func Crud(t *Table, path, name, one, many string, r Resource) resourceRows {
	item := path + "/:id"
	row := func(method, path string, may core.Action, do Endpoint, summary string) *Route {
		if r.Who != nil {
			return t.Add(method, path, r.Who(may), Member, do, summary)
		}
		return t.Add(method, path, Admin(may), Member, do, summary)
	}
	found := func(do Endpoint) Endpoint { return do.Find(r.Find).Missing(r.Missing) }
	return resourceRows{
		List:   row("GET", path, r.May.Read, r.List, "List "+many).Named("list" + name + "s"),
		Create: row("POST", path, r.May.Create, r.Create.Created(), "Create "+one).Named("create" + name),
		show:   row("GET", item, r.May.Read, found(r.Show), "Show "+one).Named("get" + name),
		Update: row("PUT", item, r.May.Change, found(r.Update), "Update "+one+"; fields you leave out stay unchanged").
			Named("update" + name),
		Remove: row("DELETE", item, r.May.Remove, found(r.Remove), "Delete "+one).Named("delete" + name),
	}
}
