package console

import (
	"net/http"
	"net/url"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// importedIssues lists a list's imported issues, and removes one from the archive.
func (o *Console) importedIssues(p *Page) (web.HTML, error) {
	l, err := p.theList()
	if err != nil {
		return web.HTML{}, err
	}
	path := apiLists + "/" + l.ID + "/imported-issues"
	if p.IsForm() {
		err := p.Do(http.MethodDelete, path+"/"+url.PathEscape(p.Form["slug"]), nil, nil)
		if err != nil && core.KindOf(err) != core.NotFound { // someone else has removed it
			return web.HTML{}, err
		}
		return p.Redirect(p.Path("lists", l.ID, "issues"), "deleted")
	}
	q := url.Values{"limit": {"50"}}
	if cursor := p.Query("cursor"); cursor != "" {
		q.Set("cursor", cursor)
	}
	var issues []core.ImportedIssue
	next, err := p.Get(path, q, &issues)
	if err != nil {
		return web.HTML{}, err
	}
	links, err := p.linksOf(&l.List)
	if err != nil {
		return web.HTML{}, err
	}
	return p.showList("list-issues", &l, View{}, filled{}, struct {
		Issues  []core.ImportedIssue
		Archive string // URL prefix for a slug; empty: not public
		Pager   pager
	}{issues, links.Issues, p.Pager(next)})
}
