package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

const bulkPath = "/api/bulk-actions"

// bulkActionRoutes adds the routes for bulk actions, which newsletterd performs in the background.
func (o *Console) bulkActionRoutes(t *web.Table) {
	may := core.ActionPeopleTag // and people.change, to unsubscribe or remove
	o.get(t, "/bulk", may, o.bulkActions, "The console: bulk actions")
	o.get(t, "/new-bulk", may, o.newBulk, "The console: the form to change everyone who matches a filter")
	o.post(t, "/new-bulk", may, o.newBulk, "The console: change everyone who matches a filter")
	o.get(t, "/bulk/:id", may, o.bulkAction, "The console: a bulk action")
	o.post(t, "/bulk/:id/cancel", may, o.endBulk("cancel"), "The console: cancel a bulk action")
	o.post(t, "/bulk/:id/undo", may, o.endBulk("undo"), "The console: undo a bulk action")
}

// BulkBadge returns the badge for the state of a bulk action.
func (p *Page) BulkBadge(a *core.BulkAction) Badge {
	switch a.State {
	case core.BulkRunning:
		return Badge{p.T("In progress"), "live"}
	case core.BulkUndoing:
		return Badge{p.T("Undoing"), "live"}
	case core.BulkPaused:
		return Badge{p.T("Stopped"), "bad"}
	case core.BulkCompleted:
		return Badge{p.T("Completed"), "good"}
	case core.BulkUndone:
		return Badge{p.T("Undone"), ""}
	}
	return Badge{p.T("Canceled"), ""}
}

// BulkTitle describes a bulk action.
func (p *Page) BulkTitle(a *core.BulkAction) string {
	list, tag := p.listName(a.ListID), p.bulkTag(a)
	if a.Rule == "" {
		return p.selectedTitle(a, list, tag)
	}
	switch a.Kind {
	case core.BulkRemove:
		return p.T("Remove people from “{{list}}”", "list", list)
	case core.BulkTag:
		return p.T("Add the tag “{{tag}}” to people on “{{list}}”", "tag", tag, "list", list)
	case core.BulkUntag:
		return p.T("Remove the tag “{{tag}}” from people on “{{list}}”", "tag", tag, "list", list)
	}
	return p.T("Unsubscribe people from “{{list}}”", "list", list)
}

// selectedTitle describes a bulk action on selected people.
func (p *Page) selectedTitle(a *core.BulkAction, list, tag string) string {
	switch a.Kind {
	case core.BulkRemove:
		return p.N("Remove 1 selected person from “{{list}}”|Remove {{n}} selected people from “{{list}}”", a.Of,
			"list", list)
	case core.BulkTag:
		return p.N("Add the tag “{{tag}}” to 1 selected person on “{{list}}”|Add the tag “{{tag}}” to {{n}} selected "+
			"people on “{{list}}”", a.Of, "tag", tag, "list", list)
	case core.BulkUntag:
		return p.N("Remove the tag “{{tag}}” from 1 selected person on “{{list}}”|Remove the tag “{{tag}}” from {{n}} "+
			"selected people on “{{list}}”", a.Of, "tag", tag, "list", list)
	}
	return p.N("Unsubscribe 1 selected person from “{{list}}”|Unsubscribe {{n}} selected people from “{{list}}”", a.Of,
		"list", list)
}

// BulkAct describes a bulk action without naming the list.
func (p *Page) BulkAct(a *core.BulkAction) string {
	switch a.Kind {
	case core.BulkRemove:
		return p.T("Remove from list")
	case core.BulkTag:
		return p.T("Add tag: {{tag}}", "tag", p.bulkTag(a))
	case core.BulkUntag:
		return p.T("Remove tag: {{tag}}", "tag", p.bulkTag(a))
	}
	return p.T("Unsubscribe")
}

func (p *Page) bulkTag(a *core.BulkAction) string { return cmp.Or(a.Tag, p.T("(deleted)")) }

// tagChoice holds the inputs for choosing a tag on the confirmation page.
type tagChoice struct {
	Asks bool  // whether the page asks for a tag
	Tag  field // input without options if the tenant has no tags
	New  field // input for the name of a new tag; no name: only existing ones can be chosen
}

// tagChips is the maximum number of tags shown side by side. More tags are shown as a list.
const tagChips = 30

// Chips returns the tags if there are few enough to show them side by side.
func (q tagChoice) Chips() []option {
	if n := len(q.Tag.Options) - 1; n < 1 || n > tagChips {
		return nil
	}
	return q.Tag.Options[1:] // without the empty choice
}

// Answerable reports whether the visitor can choose or create a tag if the page asks for one.
func (q tagChoice) Answerable() bool { return !q.Asks || len(q.Tag.Options) > 0 || q.New.Name != "" }

// askTag asks for a tag if an action needs one.
func (p *Page) askTag(act string) (q tagChoice, err error) {
	if q.Asks = core.BulkTags(act); !q.Asks {
		return q, nil
	}
	tags, err := p.allTags()
	var options []option
	if len(tags) > 0 {
		options = append(options, option{"", p.T("Choose…")})
	}
	for i := range tags {
		options = append(options, option{tags[i].ID, tags[i].Name})
	}
	q.Tag = newChoice("tag", p.T("Tag"), p.Form["tag"], options)
	if act == core.BulkTag {
		q.New = field{
			Name: newTag, Label: p.T("New tag"), Value: p.Form[newTag], Max: 60, Complete: "off",
			Required: len(options) == 0,
		}
	} else {
		q.Tag = q.Tag.Must()
	}
	return q, err
}

// newTag is the form field for the name of a new tag.
const newTag = "new_tag"

// bulkTag is the tag for a bulk action.
type bulkTag struct {
	id   string // empty: the action needs no tag
	made bool   // it was created for the action, which has not started yet
}

// readTag returns the tag that the visitor chose for an action. If they entered a new name, it creates the tag. If asks
// is true, the page must ask for confirmation. If it must ask again because of the tag, v gets the error.
func (p *Page) readTag(act string, v *View) (tag bulkTag, asks bool, err error) {
	switch {
	case p.Form["sure"] == "":
		return tag, true, nil
	case !core.BulkTags(act):
		return tag, false, nil
	case p.Form[newTag] == "" || act != core.BulkTag:
		if tag.id = p.Form["tag"]; tag.id == "" {
			v.Fault, v.Status = p.T("Choose a tag."), http.StatusBadRequest
		}
		return tag, tag.id == "", nil
	}
	t, made, err := p.tagNamed(p.Form[newTag])
	return bulkTag{t.ID, made}, err != nil, p.blame(v, err)
}

// startOn starts a bulk action on the people on a list whom body selects.
func (p *Page) startOn(list, act string, tag *bulkTag, body map[string]any) (a core.BulkAction, err error) {
	body["list_id"], body["action"] = list, act
	if tag.id != "" {
		body["tag"] = tag.id
	}
	err = p.Do(http.MethodPost, bulkPath, body, &a)
	tag.made = tag.made && err != nil
	return a, err
}

// dropTag deletes a tag that was created for an action that didn't start.
func (p *Page) dropTag(tag *bulkTag) {
	if tag.made {
		if err := p.deleteTag(tag.id); err != nil {
			p.LogError(err) // the tag stays; the action's error matters more
		}
	}
}

func (p *Page) listName(id string) string {
	lists, err := p.peopleLists()
	if err != nil {
		return id
	}
	for i := range lists {
		if lists[i].ID == id {
			return lists[i].Name
		}
	}
	return id
}

func (p *Page) withinBulk() []Link {
	return []Link{{p.T("People"), p.Path("people")}, {p.T("Bulk actions"), p.Path("bulk")}}
}

// bulkActions lists the bulk actions on a list, newest first.
func (o *Console) bulkActions(p *Page) (web.HTML, error) {
	lists, err := p.peopleLists()
	if err != nil {
		return web.HTML{}, err
	}
	d := struct {
		Actions []core.BulkAction
		Lists   []option
		List    string
		Pager   pager
	}{Lists: listOptions(lists), List: p.Query("list")}
	if !hasOption(d.Lists, d.List) && len(lists) > 0 {
		d.List = lists[0].ID
	}
	if d.List != "" {
		q := url.Values{"list_id": {d.List}, "limit": {"30"}}
		if cursor := p.Query("cursor"); cursor != "" {
			q.Set("cursor", cursor)
		}
		next, err := p.Get(bulkPath, q, &d.Actions)
		if err != nil {
			return web.HTML{}, err
		}
		d.Pager = p.Pager(next)
	}
	return p.Show("bulk-actions", View{Title: p.T("Bulk actions"), Within: p.withinBulk()[:1], Data: &d})
}

// newBulkData holds the data for templates/new-bulk.html.
type newBulkData struct {
	Segment core.Segment
	Lists   []option
	peopleFilter
	Wheres  [][2]string // conditions of the filter, in words
	Back    string
	Act     string
	Sure    bool // whether the page asks for confirmation
	Button  string
	Warning string
	N       core.SegmentCount
	tagChoice
}

// newBulk shows what can be done with everyone who matches a filter on the People page, asks for confirmation, and
// starts the action.
func (o *Console) newBulk(p *Page) (web.HTML, error) {
	ask := p.Query
	if p.IsForm() {
		ask = func(name string) string { return p.Form[name] }
	}
	d := newBulkData{Act: ask("act")}
	if right := core.BulkRight(d.Act); p.IsForm() && !p.May(right) {
		return web.HTML{}, core.Lacking(right)
	}
	lists, err := p.peopleLists()
	if err != nil {
		return web.HTML{}, err
	}
	d.Lists, d.peopleFilter = listOptions(lists), readFilter(ask, lists)
	if ask("field") != d.Field { // removed since the page was shown; without it, the action would change more people
		return web.HTML{}, web.ErrNotFound
	}
	if err := p.readWhom(&d); err != nil {
		return web.HTML{}, err
	}
	v := View{Title: p.T("Edit all matching people"), Within: p.withinBulk()[:1], Data: &d}
	if len(d.leaves()) == 1 && d.Segment.ID != "" {
		v.Title = p.T("Edit everyone in “{{segment}}”", "segment", d.Segment.Name)
	}
	if p.IsForm() {
		to, err := p.startBulk(&d, &v)
		if to != "" {
			return p.Redirect(to, "")
		}
		if err != nil {
			fault, status, ok := p.FaultOf(err)
			if !ok {
				return web.HTML{}, err
			}
			v.Fault, v.Status, d.Sure = fault, status, false
		}
	}
	return p.Show("new-bulk", v)
}

// readWhom reads the records to which the page's filter refers, and describes the filter. If the filter is not a rule,
// it returns a not-found error.
func (p *Page) readWhom(d *newBulkData) error {
	f := &d.peopleFilter
	if f.NotAll(p) != "" {
		return web.ErrNotFound
	}
	d.Back = p.Path("people") + "?" + f.query().Encode()
	if f.Segment != "" {
		if err := p.readSegment(f.Segment, &d.Segment); err != nil {
			return err
		}
		d.Wheres = append(d.Wheres, p.SegmentTerm(d.Segment))
	}
	if f.Tagged != "" {
		var t core.Tag
		_, err := p.Get("/api/tags/"+url.PathEscape(f.Tagged), nil, &t)
		if err == nil && t.TenantID != p.Tenant.ID {
			err = web.ErrNotFound
		}
		if err != nil {
			return err
		}
		d.Wheres = append(d.Wheres, [2]string{p.T("Tag"), t.Name})
	}
	if f.Answered != "" {
		campaign, answer, _ := strings.Cut(f.Answered, ".")
		answers, err := p.answers(campaign)
		i := slices.IndexFunc(answers, func(o option) bool { return o.Value == answer })
		if err == nil && i < 0 {
			err = web.ErrNotFound
		}
		if err != nil {
			return err
		}
		d.Wheres = append(d.Wheres, [2]string{p.T("Poll answer"), answers[i].Text})
	}
	if f.Field != "" {
		d.Wheres = append(d.Wheres, [2]string{f.Field, cmp.Or(f.Value, p.T("(empty)"))})
	}
	if len(d.Wheres) == 0 {
		d.Wheres = [][2]string{{p.T("Status"), p.PersonBadge(core.SubscriptionActive).Text}}
	}
	return nil
}

// startBulk asks for confirmation or, if the visitor has confirmed, starts the action and returns the path of its page.
func (p *Page) startBulk(d *newBulkData, v *View) (to string, err error) {
	err = p.Do(http.MethodPost, "/api/segment-count",
		d.whom(map[string]any{"list_ids": []string{d.List}, "tenant_id": p.Tenant.ID}), &d.N)
	if err != nil {
		return "", err
	}
	tag, asks, err := p.readTag(d.Act, v)
	if err != nil {
		return "", err
	}
	if asks {
		d.Sure = true
		v.Title, d.Button, d.Warning = p.bulkQuestion(d.Act, *cmp.Or(d.N.Exact, d.N.About))
		if d.Act == core.BulkUnsubscribe {
			d.Warning = p.T("They won't get any more emails from this list. To get emails again, they have to sign " +
				"up themselves.")
		}
		d.tagChoice, err = p.askTag(d.Act)
		return "", err
	}
	defer p.dropTag(&tag)
	a, err := p.startOn(d.List, d.Act, &tag, d.whom(map[string]any{}))
	if err != nil {
		return "", err
	}
	return p.Path("bulk", a.ID), nil
}

// bulkActionData holds the data for templates/bulk-action.html.
type bulkActionData struct {
	core.BulkAction
	Live bool
}

// Left returns the number of people whom the undo leaves unchanged.
func (d *bulkActionData) Left() int64 { return d.Changed - d.Restored }

// Skipped returns the number of people whom the action didn't change.
func (d *bulkActionData) Skipped() int64 { return d.Done - d.Changed }

// Tags reports whether the action adds or removes a tag.
func (d *bulkActionData) Tags() bool { return core.BulkTags(d.Kind) }

// Right returns the right required to stop or undo the action.
func (d *bulkActionData) Right() core.Action { return core.BulkRight(d.Kind) }

// theBulk reads the bulk action in the path.
func (p *Page) theBulk() (a core.BulkAction, err error) {
	if _, err = p.Get(bulkPath+"/"+p.ID(), nil, &a); err == nil && a.TenantID != p.Tenant.ID {
		err = web.ErrNotFound
	}
	return a, err
}

// bulkAction shows the progress or the result of a bulk action.
func (o *Console) bulkAction(p *Page) (web.HTML, error) { return p.showBulk(View{}) }

func (p *Page) showBulk(v View) (web.HTML, error) {
	a, err := p.theBulk()
	if err != nil {
		return web.HTML{}, err
	}
	v.Title, v.Within, v.Data = p.BulkTitle(&a), p.withinBulk(), &bulkActionData{a, a.Open()}
	if _, part := p.Partial(); part {
		return p.ShowPart("bulk-action", "bulk", v)
	}
	return p.Show("bulk-action", v)
}

// endBulk stops or undoes a bulk action.
func (o *Console) endBulk(how string) handler {
	return func(p *Page) (web.HTML, error) {
		a, err := p.theBulk()
		if err != nil {
			return web.HTML{}, err
		}
		err = p.Do(http.MethodPost, bulkPath+"/"+a.ID+"/"+how, nil, nil)
		if fault, status, ok := p.FaultOf(err); ok {
			return p.showBulk(View{Fault: fault, Status: status})
		}
		if err != nil {
			return web.HTML{}, err
		}
		return p.Redirect(p.Path("bulk", a.ID), "")
	}
}
