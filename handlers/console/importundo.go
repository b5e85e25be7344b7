package console

import (
	"net/http"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// undoData holds the data for templates/undo-import.html.
type undoData struct {
	core.ImportJob

	Rows   []plannedRow
	Issues bool // whether posts from the file are in the archive
	Remove bool // whether the undo removes people
	// number of people whose replaced values weren't stored, because there were too many or the version was too old
	Unkept int64
}

// plannedRow is one effect of an undo.
type plannedRow struct {
	countedRow
	About bool // whether the number is extrapolated from a sample
}

// undoImport shows the effects of undoing an import and, once confirmed, undoes it.
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
		if err != nil && core.KindOf(err) != core.Conflict { // the import is already undone
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
	d.Unkept, d.Remove = d.ReplacedUnkept, plan.Remove > 0
	if replaced := d.Updated - max(d.Brought-d.Added-d.Unsubscribed, 0); d.Replaced == 0 && replaced > 0 {
		d.Unkept = replaced
	}
	d.Rows = planRows(plan.Looked, plan.Brought, []countedRow{
		{p.T("removed from the list, with their fields and tags from this import"), plan.Remove},
		{p.T("pending again, as before the import"), plan.Pending},
		{p.T("unsubscribed since the import: stays unsubscribed"), plan.Left},
		{p.T("confirmed or changed since the import: kept on the list"), plan.Changed},
		{p.T("no longer on the list"), plan.Gone},
		{p.T("subscribed again, as before the import"), plan.Resume},
		{p.T("still unsubscribed because of another import"), plan.Said},
	})
	if plan.Lift > 0 {
		d.Rows = append(d.Rows, plannedRow{countedRow{p.T("no longer on the suppression list"), plan.Lift}, false})
	}
	if plan.Tagged > 0 {
		text := p.T("lose the tags from this import, unless they got them again since")
		if d.Added > 0 {
			text = p.T("lose the tags from this import, unless they got them again since (including new people)")
		}
		d.Rows = append(d.Rows, plannedRow{countedRow{text, plan.Tagged}, false})
	}
	d.Rows = append(d.Rows, planRows(plan.ReplacedLooked, plan.Replaced, []countedRow{
		{p.T("existing, restored to their previous values"), plan.Restore},
		{p.T("existing, edited since the import: current values kept"), plan.Unrestored},
	})...)
	if d.Posts > 0 {
		var posts []core.ImportedPost
		if _, err := p.Get(p.importPath("posts"), nil, &posts); err != nil {
			return web.HTML{}, err
		}
		d.Issues = anyIssue(posts)
	}
	state := p.T("No one added")
	if d.Suppress {
		state = p.N("1 address blocked|{{n}} addresses blocked", d.Barred)
	}
	if d.Added > 0 {
		state = p.N("1 person added|{{n}} people added", d.Added)
	}
	if d.Unsubscribed > 0 {
		state += " · " + p.N("1 person unsubscribed|{{n}} people unsubscribed", d.Unsubscribed)
	}
	if plan.Replaced > 0 {
		state += " · " + p.N("1 existing subscriber updated|{{n}} existing subscribers updated", plan.Replaced)
	}
	return p.Show("undo-import", View{
		Title: p.T("Undo this import?"), Within: append(p.withinImports(), Link{d.Name, p.Path("imports", d.ID)}),
		State: state, Data: &d,
	})
}

// planRows returns the rows whose count is above 0. looked is the number of people checked. If it is less than all,
// planRows extrapolates.
func planRows(looked, all int64, rows []countedRow) (shown []plannedRow) {
	about := looked > 0 && looked < all
	for _, r := range rows {
		if about {
			r.N = rounded(r.N * all / looked)
		}
		if r.N > 0 {
			shown = append(shown, plannedRow{r, about})
		}
	}
	return shown
}

// rounded returns a number with only its first two digits.
func rounded(n int64) int64 {
	unit := int64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit/2) / unit * unit
}

// UndoOpen reports whether the visitor can still undo an import. A visitor who may not change people can undo only
// their own imports.
func (p *Page) UndoOpen(j *core.ImportJob) bool {
	own := j.CreatedBy == "user:"+p.Who.User.ID
	return j.UndoUntil > p.Now && (own || p.May(core.ActionPeopleChange))
}
