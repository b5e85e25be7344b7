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
	// people of whom what the file has replaced is not kept: it was too much, or before the version that keeps it
	Unkept int64
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
	d.About = plan.Looked < plan.Brought || plan.ReplacedLooked < plan.Replaced
	d.Unkept = d.ReplacedUnkept
	if replaced := d.Updated - max(d.Brought-d.Added, 0); d.Replaced == 0 && replaced > 0 {
		d.Unkept = replaced
	}
	d.Rows = planRows(plan.Looked, plan.Brought, []countedRow{
		{p.T("are removed from the list, with what the file says of them"), plan.Remove},
		{p.T("wait for their confirmation again, as before the import"), plan.Pending},
		{p.T("have left by themselves: that stays"), plan.Left},
		{p.T("have confirmed or changed something since: they stay"), plan.Changed},
		{p.T("are not on the list any more"), plan.Gone},
		{p.T("are subscribed again, as before the import"), plan.Resume},
		{p.T("stay unsubscribed, because another file says so too"), plan.Said},
	})
	if plan.Lift > 0 {
		d.Rows = append(d.Rows, countedRow{p.T("are off the suppression list again"), plan.Lift})
	}
	d.Rows = append(d.Rows, planRows(plan.ReplacedLooked, plan.Replaced, []countedRow{
		{p.T("were on the list before: what the file has replaced becomes again what it was"), plan.Restore},
		{p.T("were on the list before, and all that the file has replaced was changed since: that stays"), plan.Unrestored},
	})...)
	state := p.T("It has brought no one new.")
	if plan.Brought > 0 {
		state = p.N("It has brought one person.|It has brought {{n}} people.", plan.Brought)
	}
	if plan.Replaced > 0 {
		state += " " + p.N("Of one person who was there before it has replaced what was known.|"+
			"Of {{n}} people who were there before it has replaced what was known.", plan.Replaced)
	}
	return p.Show("undo-import", View{
		Title: p.T("Take this import back?"), Within: append(p.withinImports(), Link{d.Name, p.Path("imports", d.ID)}),
		State: state, Data: &d,
	})
}

// planRows are the rows that are not empty, of all people where so many of them were looked at.
func planRows(looked, all int64, rows []countedRow) (shown []countedRow) {
	for _, r := range rows {
		if looked > 0 && looked < all {
			r.N = r.N * all / looked
		}
		if r.N > 0 {
			shown = append(shown, r)
		}
	}
	return shown
}

// UndoOpen reports whether an import can still be taken back by the visitor. Who may not change people takes back
// imports of their own alone.
func (p *Page) UndoOpen(j *core.ImportJob) bool {
	own := j.CreatedBy == "user:"+p.Who.User.ID
	return j.UndoUntil > p.Now && (own || p.May(core.ActionPeopleChange))
}
