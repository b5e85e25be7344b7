package members

import (
	"newsletterd/core"
	"newsletterd/handlers/tenants"
	"newsletterd/handlers/web"
)

// importedIssueRoutes adds the routes for issues of a list that were imported from another tool.
func (r *Room) importedIssueRoutes(t *web.Table) {
	l := listExtras{store: r.Store}
	const all = "/api/admin/newsletter-lists/:id/imported-issues"
	one := func(e web.Endpoint) web.Endpoint { return e.Find(tenants.FindList).Missing(core.ErrListNotFound) }
	t.Add("GET", all, web.Admin(core.ActionListRead), web.Member,
		one(web.List(l.importedIssues, func(i core.ImportedIssue) string { return i.Cursor() })),
		"List the imported issues in the archive of a list, newest first").Named("listImportedIssues")
	t.Add("DELETE", all+"/:slug", web.Admin(core.ActionListSettings), web.Member,
		one(web.Query(l.removeIssue)).Fails(core.NotFound),
		"Remove an imported issue from the archive of a list").Named("removeImportedIssue")
}

func (a listExtras) importedIssues(c *web.Call, _ struct{}, page core.Page) ([]core.ImportedIssue, error) {
	return a.store.ImportedIssues(c, c.ID(), page)
}

// importedIssue holds the slug of an imported issue from the path.
type importedIssue struct {
	Slug string `path:"slug,text"`
}

func (a listExtras) removeIssue(c *web.Call, in importedIssue) (web.None, error) {
	err := a.store.RemoveIssue(c, c.ID(), in.Slug, web.Actor(c), c.Now)
	if core.KindOf(err) == core.NotFound {
		err = web.ErrNotFound
	}
	return web.None{}, err
}
