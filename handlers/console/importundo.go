package console

import (
	"net/http"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// undoData is the Data of templates/undo-import.html.
type undoData struct {
	core.ImportJob

	Rows  []countedRow
	About bool // the figures are those of a part, made larger
}

// undoImport says what would become of those whom an import has brought, and takes it back.
func (o *Console) undoImport(p *Page) (web.HTML, error) {
	if err := p.fresh(); err != nil {
		return web.HTML{}, err
	}
	var d undoData
	if _, err := p.Get(p.importPath(), nil, &d.ImportJob); err != nil {
		return web.HTML{}, err
	}
	if d.TenantID != p.Tenant.ID {
		return web.HTML{}, web.ErrNotFound
	}
	if p.IsForm() {
		err := p.Do(http.MethodPost, p.importPath("undo"), nil, nil)
		if err != nil && core.KindOf(err) != core.Conflict { // it is taken back already
			return web.HTML{}, err
		}
		return p.Redirect(p.Path("imports", d.ID), "")
	}
	var plan core.ImportUndoPlan
	if _, err := p.Get(p.importPath("undo"), nil, &plan); core.KindOf(err) == core.Conflict {
		return p.Redirect(p.Path("imports", d.ID), "")
	} else if err != nil {
		return web.HTML{}, err
	}
	d.About = plan.Looked < plan.Brought
	for _, r := range []countedRow{
		{p.T("are removed from the list, with what the file says of them"), plan.Remove},
		{p.T("wait for their confirmation again, as before the import"), plan.Pending},
		{p.T("have left by themselves: that stays"), plan.Left},
		{p.T("have confirmed or changed something since: they stay"), plan.Changed},
		{p.T("are not on the list any more"), plan.Gone},
	} {
		if r.N > 0 && d.About {
			r.N = r.N * plan.Brought / plan.Looked
		}
		if r.N > 0 {
			d.Rows = append(d.Rows, r)
		}
	}
	return p.Show("undo-import", View{
		Title: p.T("Take this import back?"), Within: append(p.withinImports(), Link{d.Name, p.Path("imports", d.ID)}),
		State: p.N("It has brought one person.|It has brought {{n}} people.", plan.Brought), Data: &d,
	})
}

// UndoOpen reports whether an import can still be taken back by the visitor. Who may not change people takes back
// imports of their own alone.
func (p *Page) UndoOpen(j *core.ImportJob) bool {
	own := j.CreatedBy == "user:"+p.Who.User.ID
	return j.UndoUntil > p.Now && (own || p.May(core.ActionPeopleChange))
}
