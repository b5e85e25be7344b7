package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// bulkRoutes adds the routes for bulk actions on people.
func (o *Console) bulkRoutes(t *web.Table) {
	o.post(t, "/people", core.ActionPeopleTag, o.bulk, "The console: start a bulk action on selected people")
}

const (
	maxBulk  = 200              // maximum number of people in a form, the same as on the largest page
	bulkTime = 10 * time.Second // maximum time, within the 15 seconds for a page
)

// directActs maps the actions that the page performs itself to the required rights. The other actions are in
// core.BulkKinds.
var directActs = map[string]core.Action{
	"block": core.ActionSuppressionManage,
	"erase": core.ActionPeopleErase,
}

// moreAct is an action on selected people that phones show in a menu.
type moreAct struct {
	Value, Text, Icon string
	Danger            bool
}

// MoreActs returns the actions on selected people that don't fit in the bar on a phone.
func (p *Page) MoreActs() (all []moreAct) {
	all = append(all, moreAct{Value: "untag", Text: p.T("Remove tag"), Icon: "x"})
	if p.May(core.ActionPeopleChange) {
		all = append(all, moreAct{Value: "remove", Text: p.T("Remove from list"), Icon: "x"})
	}
	if p.May(core.ActionSuppressionManage) {
		all = append(all, moreAct{Value: "block", Text: p.T("Block"), Icon: "ban"})
	}
	if p.May(core.ActionPeopleErase) {
		all = append(all, moreAct{Value: "erase", Text: p.T("Erase data"), Icon: "trash-2", Danger: true})
	}
	return all
}

// chosenPerson is a person selected for a bulk action.
type chosenPerson struct {
	ID    string
	Email core.Email
	Fault string // why nothing was done
}

// bulkData holds the data for templates/people-bulk.html.
type bulkData struct {
	Act, Back, Button string
	Warning           string
	People            []chosenPerson
	Failed            []chosenPerson
	Done              bool
	To                string // page of the bulk action that was started
	tagChoice
}

// BackQuery returns the query of the page that has the form.
func (d *bulkData) BackQuery() string {
	_, query, _ := strings.Cut(d.Back, "?")
	return query
}

// bulk asks for confirmation, performs an action on each selected person, and shows the result.
func (o *Console) bulk(p *Page) (web.HTML, error) {
	d := bulkData{Act: p.Form["act"], Back: p.Path("people")}
	if q, err := url.ParseQuery(p.Form["back"]); err == nil && len(q) > 0 {
		d.Back += "?" + q.Encode()
	}
	action, direct := directActs[d.Act]
	switch {
	case direct:
	case slices.Contains(core.BulkKinds, d.Act):
		action = core.BulkRight(d.Act)
	default:
		return web.HTML{}, core.Invalidf("act", "Unknown action. Reload the page and try again.")
	}
	if !p.May(action) {
		return web.HTML{}, core.Lacking(action)
	}
	for name, value := range p.Form {
		if id, ok := strings.CutPrefix(name, "id."); ok {
			d.People = append(d.People, chosenPerson{ID: id, Email: core.Email(value)})
		}
	}
	slices.SortFunc(d.People, func(a, b chosenPerson) int { return strings.Compare(string(a.Email), string(b.Email)) })
	n := int64(len(d.People))
	v := View{Within: []Link{{p.T("People"), d.Back}}, Data: &d}
	if n > maxBulk {
		v.Title, v.Status = p.T("Too many people selected"), http.StatusBadRequest
		v.Fault = p.T("You can select at most {{n}} people at a time. Deselect some.", "n", p.Number(maxBulk))
		d.People = nil
		return p.Show("people-bulk", v)
	}
	if n == 0 {
		v.Title, v.Status, v.Fault = p.T("No one is selected"), http.StatusBadRequest, p.T("Select people first.")
		return p.Show("people-bulk", v)
	}
	if action == core.ActionPeopleErase {
		if err := p.fresh(); err != nil {
			return web.HTML{}, err
		}
	}
	tag, asks, err := p.readTag(d.Act, &v)
	if err != nil {
		return web.HTML{}, err
	}
	if asks {
		v.Title, d.Button, d.Warning = p.bulkQuestion(d.Act, n)
		if d.tagChoice, err = p.askTag(d.Act); err != nil {
			return web.HTML{}, err
		}
		return p.Show("people-bulk", v)
	}
	if direct {
		err = p.doBulk(&d)
	} else {
		err = p.startChosen(&d, tag)
	}
	if err != nil {
		return web.HTML{}, err
	}
	if d.To != "" {
		return p.Redirect(d.To, "")
	}
	d.Done = true
	if done := n - int64(len(d.Failed)); done > 0 {
		v.Done = p.bulkDone(d.Act, done)
	}
	v.Title = p.T("Done")
	if len(d.Failed) > 0 {
		v.Title = p.N("1 person skipped|{{n}} people skipped", int64(len(d.Failed)))
	}
	return p.Show("people-bulk", v)
}

func (p *Page) bulkQuestion(act string, n int64) (title, button, warning string) {
	switch act {
	case "block":
		return p.N("Block 1 address?|Block {{n}} addresses?", n), p.T("Block"),
			p.T("Blocked addresses are unsubscribed from all your lists and can't be added again until you unblock " +
				"them.")
	case "erase":
		return p.N("Erase the data of 1 person?|Erase the data of {{n}} people?", n), p.T("Erase data"),
			p.T("This permanently deletes all data your lists store about these people. You can't undo this.")
	case core.BulkTag:
		return p.N("Add a tag to 1 person?|Add a tag to {{n}} people?", n), p.T("Add tag"),
			p.T("They get the tag on all your lists.")
	case core.BulkUntag:
		return p.N("Remove a tag from 1 person?|Remove a tag from {{n}} people?", n), p.T("Remove tag"),
			p.T("They lose the tag on all your lists.")
	case "remove":
		return p.N("Remove 1 person?|Remove {{n}} people?", n), p.T("Remove from list"),
			p.T("They won't get any more emails from this list. They can sign up again, and you can import them " +
				"again. People who unsubscribed stay on the list as unsubscribed.")
	}
	return p.N("Unsubscribe 1 person?|Unsubscribe {{n}} people?", n), p.T("Unsubscribe"),
		p.T("They won't get any more emails from the list you selected them on. To get emails again, they have to " +
			"sign up themselves.")
}

func (p *Page) bulkDone(act string, n int64) string {
	if act == "block" {
		return p.N("1 address blocked|{{n}} addresses blocked", n)
	}
	return p.N("Data of 1 person erased|Data of {{n}} people erased", n)
}

// doBulk performs the action on each person through the API. People for whom the API rejects it are added to Failed. If
// the page's time runs out or another error occurs, so are all remaining people.
func (p *Page) doBulk(d *bulkData) error {
	begun, erased := time.Now(), map[core.Email]bool{}
	for i, one := range d.People {
		path, body := "/api/admin/subscribers/"+url.PathEscape(one.ID)+"/"+d.Act, any(nil)
		var is person
		_, err := p.Get("/api/admin/subscribers/"+url.PathEscape(one.ID), nil, &is)
		if err == nil && is.TenantID != p.Tenant.ID { // otherwise, a server administrator could reach other tenants
			err = web.ErrNotFound
		}
		if one.Email = cmp.Or(is.Email, one.Email); d.Act == "block" {
			path, body = "/api/admin/suppressions", map[string]any{"tenant_id": p.Tenant.ID, "email": is.Email}
		}
		if err == nil {
			err = p.Do(http.MethodPost, path, body, nil)
		}
		if core.KindOf(err) == core.NotFound {
			if d.Act == "erase" && erased[one.Email] { // already erased with another row of the same person
				continue
			}
			one.Fault = p.T("This person is no longer on the list.")
		} else if fault, _, ok := p.FaultOf(err); err != nil && ok {
			one.Fault = fault
		} else if err != nil && i == 0 {
			return err
		} else if err != nil || time.Since(begun) > bulkTime {
			if err != nil {
				p.LogError(err)
			} else {
				i++
			}
			for _, rest := range d.People[i:] {
				rest.Fault = p.T("This didn't work. Try again.")
				d.Failed = append(d.Failed, rest)
			}
			return nil
		}
		if one.Fault != "" {
			d.Failed = append(d.Failed, one)
		} else {
			erased[one.Email] = true
		}
	}
	return nil
}

// startChosen starts bulk actions on the chosen people, one for each of their lists. People who are on no list are
// added to Failed.
func (p *Page) startChosen(d *bulkData, tag bulkTag) error {
	defer p.dropTag(&tag)
	var order []string
	ids := map[string][]string{}
	for _, one := range d.People {
		var is person
		_, err := p.Get("/api/admin/subscribers/"+url.PathEscape(one.ID), nil, &is)
		if core.KindOf(err) == core.NotFound || err == nil && is.TenantID != p.Tenant.ID {
			one.Fault = p.T("This person is no longer on the list.")
			d.Failed = append(d.Failed, one)
			continue
		}
		if err != nil {
			return err
		}
		if ids[is.ListID] == nil {
			order = append(order, is.ListID)
		}
		ids[is.ListID] = append(ids[is.ListID], is.ID)
	}
	for _, list := range order {
		a, err := p.startOn(list, d.Act, &tag, map[string]any{"ids": ids[list]})
		if err != nil {
			return err
		}
		d.To = p.Path("bulk", a.ID)
	}
	if len(order) > 1 {
		d.To = p.Path("bulk")
	}
	return nil
}
