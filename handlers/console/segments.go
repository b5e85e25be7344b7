package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// segmentRoutes adds the routes for segments.
func (o *Console) segmentRoutes(t *web.Table) {
	o.get(t, "/segments", core.ActionSegmentRead, o.segments, "The console: segments")
	o.get(t, "/new-segment", core.ActionSegmentWrite, o.newSegment, "The console: the form for a new segment")
	o.post(t, "/new-segment", core.ActionSegmentWrite, o.newSegment, "The console: create a segment")
	o.get(t, "/segments/:id", core.ActionSegmentRead, o.segment, "The console: a segment")
	o.post(t, "/segments/:id", core.ActionSegmentWrite, o.changeSegment,
		"The console: change, count, duplicate or delete a segment")
}

// PeopleTabs returns the tabs on the People page.
func (p *Page) PeopleTabs() []tab {
	return p.tabsOf(Link{p.T("People"), p.Path("people")}, Link{p.T("Segments"), p.Path("segments")},
		Link{p.T("Tags"), p.Path("tags")})
}

// segmentsData holds the data for templates/segments.html.
type segmentsData struct {
	Segments []listedSegment
	Pager    pager
}

// listedSegment is a segment in the table.
type listedSegment struct {
	core.Segment
	Count string
	Tag   string // tag that the segment was created for, if any
}

// Limits for the counts in the table.
const (
	countedSegments = 20              // maximum number of segments that are counted
	countingTime    = 3 * time.Second // time after which no more segments are counted
)

// segments lists the tenant's segments.
func (o *Console) segments(p *Page) (web.HTML, error) {
	var d segmentsData
	q := p.listQuery("50")
	q.Set("tenant_id", p.Tenant.ID)
	var found []core.Segment
	next, err := p.Get("/api/segments", q, &found)
	if err != nil {
		return web.HTML{}, err
	}
	lists, err := p.peopleLists()
	if err != nil {
		return web.HTML{}, err
	}
	begun := time.Now()
	for i := range found {
		row := listedSegment{Segment: found[i], Count: "–", Tag: p.namedForTag(&found[i])}
		if i < countedSegments && time.Since(begun) < countingTime {
			if row.Count, err = p.listedCount(map[string]any{"segment_id": row.ID}, listIDs(lists)); err != nil {
				return web.HTML{}, err
			}
		}
		d.Segments = append(d.Segments, row)
	}
	d.Pager = p.Pager(next)
	return p.Show("segments", View{
		Title: p.T("Segments"), State: p.T("Groups of people who match the same conditions, always up to date."),
		Data: &d,
	})
}

// listedCount returns the formatted number of matching people for the table. what holds either rule or segment_id.
func (p *Page) listedCount(what map[string]any, lists []string) (string, error) {
	c, err := p.segmentCount(what, lists)
	if _, ok := p.countFault(err); ok {
		return p.T("can't be counted"), nil
	}
	return p.figureOf(&c).Figure, err
}

// segmentUse is a campaign or segment that uses a segment.
type segmentUse struct {
	core.SegmentUse
	To string
}

func (p *Page) segmentUses(id string) (uses []segmentUse, err error) {
	_, err = p.Get("/api/segments/"+url.PathEscape(id)+"/uses", nil, &uses)
	for i := range uses {
		uses[i].To = p.Path(uses[i].Kind+"s", uses[i].ID)
		if uses[i].Name == "" {
			uses[i].Name = p.T("Untitled")
		}
	}
	return uses, err
}

// segmentData holds the data for templates/segment.html.
type segmentData struct {
	core.Segment
	Form   filled
	Any    bool // whether one matching condition is enough
	Rows   []segmentRow
	Said   *saidRule // description of the rule, if the form can't show it or the visitor may not change it
	Text   string    // submitted JSON; empty: the rule's JSON
	Writes bool
	Lists  []option
	List   string // id of the list on which people are counted; empty: all lists
	Count  segmentFigure
	People []person
	Uses   []segmentUse
	Here   string // URL of the form
	Oob    bool   // whether the response contains the count along with the conditions

	fields *segmentFields
}

// Fields returns the subjects that conditions can check.
func (d *segmentData) Fields() *segmentFields { return d.fields }

// PeopleTo returns the URL of the page that lists the segment's people.
func (d *segmentData) PeopleTo() string { return d.to("people") }

// ExportTo returns the URL of the page that exports the segment's people.
func (d *segmentData) ExportTo() string { return d.to("people-export") }

func (d *segmentData) to(page string) string {
	return d.fields.page.Path(page) + "?" + (&peopleFilter{List: d.List, Segment: d.ID}).query().Encode()
}

// Indented returns the rule as indented JSON.
func (d *segmentData) Indented() string {
	if d.Text != "" {
		return d.Text
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(d.Rule), "", "  ") != nil {
		return string(d.Rule)
	}
	return b.String()
}

// More reports whether the form has room for another condition.
func (d *segmentData) More() bool { return len(d.Rows) < core.MaxRuleLeaves }

// newSegmentData returns the form data for a segment.
func (p *Page) newSegmentData(g core.Segment) (*segmentData, error) {
	d := &segmentData{Segment: g, Writes: p.May(core.ActionSegmentWrite), Here: p.Path("new-segment")}
	if g.ID != "" {
		d.Here = p.Path("segments", g.ID)
	} else if id := p.Query("campaign"); id != "" {
		d.Here += "?" + url.Values{"campaign": {id}}.Encode()
	}
	var err error
	if d.fields, err = p.segmentFields(g.ID); err != nil {
		return nil, err
	}
	d.List = p.Query("list")
	if p.IsForm() {
		d.List = p.Form["list"]
	}
	if len(d.fields.lists) > 1 {
		d.Lists = listOptions(d.fields.lists, option{"", p.T("All lists")})
	}
	if !hasOption(d.Lists, d.List) {
		d.List = ""
	}
	return d, nil
}

// read sets the rows for the saved rule, or its description if the form can't show it.
func (d *segmentData) read() error {
	rule, err := core.ParseRule("rule", []byte(d.Rule))
	if err != nil {
		return err
	}
	ok := false
	d.Rows, d.Any, ok = d.fields.rowsOf(rule)
	if !ok || !d.Writes {
		said, err := d.fields.say(rule)
		d.Said = &said
		return err
	}
	return nil
}

// theSegment reads the segment in the path.
func (p *Page) theSegment() (g core.Segment, err error) {
	if _, err = p.Get("/api/segments/"+p.ID(), nil, &g); err == nil && g.TenantID != p.Tenant.ID {
		err = web.ErrNotFound
	}
	return g, err
}

// newSegment shows the form for a new segment and creates it.
func (o *Console) newSegment(p *Page) (web.HTML, error) {
	d, err := p.newSegmentData(core.Segment{TenantID: p.Tenant.ID})
	if err != nil {
		return web.HTML{}, err
	}
	if !p.IsForm() {
		if err := d.fromPeople(); err != nil {
			return web.HTML{}, err
		}
		return p.showSegment(d, View{})
	}
	return p.workOn(d, func(body map[string]any) (string, error) {
		body["tenant_id"] = p.Tenant.ID
		var made core.Segment
		err := p.Do(http.MethodPost, "/api/segments", body, &made)
		return made.ID, err
	}, "segment-created")
}

// fromPeople sets a new segment's rows: the conditions in the People page's filter, or one empty row.
func (d *segmentData) fromPeople() error {
	d.Rows = []segmentRow{{No: 1}}
	f := readFilter(d.fields.page.Query, d.fields.lists)
	leaves := f.leaves()
	if len(leaves) == 0 {
		return nil
	}
	if f.List != "" {
		leaves = append(leaves, map[string]any{"on_list": f.List})
	}
	text, err := json.Marshal(map[string]any{"all": leaves})
	if err != nil {
		return err
	}
	rule, err := core.ParseRule("rule", text)
	if err != nil {
		return err
	}
	if rows, _, ok := d.fields.rowsOf(rule); ok {
		d.Rows = rows
	}
	return nil
}

// segment shows a segment.
func (o *Console) segment(p *Page) (web.HTML, error) { return p.showSaved(View{}) }

// showSaved shows a segment in its saved state.
func (p *Page) showSaved(v View) (web.HTML, error) {
	g, err := p.theSegment()
	if err != nil {
		return web.HTML{}, err
	}
	d, err := p.newSegmentData(g)
	if err == nil {
		err = d.read()
	}
	if err == nil {
		err = d.figure(p, nil, false)
	}
	if err == nil && p.May(core.ActionPeopleRead) {
		err = d.matches(p)
	}
	if err != nil {
		return web.HTML{}, err
	}
	d.Form = filled{values: map[string]string{"name": g.Name, "revision": strconv.FormatInt(g.Revision, 10)}}
	return p.showSegment(d, v)
}

func (p *Page) showSegment(d *segmentData, v View) (web.HTML, error) {
	v.Title, v.Data = p.T("New segment"), d
	v.Within = []Link{{p.T("People"), p.Path("people")}, {p.T("Segments"), p.Path("segments")}}
	if d.ID != "" {
		v.Title = d.Name
		var err error
		if d.Uses, err = p.segmentUses(d.ID); err != nil {
			return web.HTML{}, err
		}
	}
	return p.Show("segment", v)
}

// changeSegment saves, duplicates or deletes a segment, or handles changes to its form.
func (o *Console) changeSegment(p *Page) (web.HTML, error) {
	g, err := p.theSegment()
	if err != nil {
		return web.HTML{}, err
	}
	switch p.Form["do"] {
	case "delete":
		return p.deleteSegment(&g)
	case "duplicate":
		return p.duplicateSegment(&g)
	}
	d, err := p.newSegmentData(g)
	if err != nil {
		return web.HTML{}, err
	}
	return p.workOn(d, func(body map[string]any) (string, error) {
		revision := cmp.Or(p.Form["revision"], strconv.FormatInt(g.Revision, 10))
		_, err := p.Ask(web.Question{
			Method: http.MethodPut, Path: "/api/segments/" + g.ID, Body: body,
			Header: map[string]string{"If-Match": `"` + revision + `"`},
		})
		return g.ID, err
	}, "saved")
}

// workOn handles a submitted form: it adds or removes a condition, counts, or saves the segment.
func (p *Page) workOn(d *segmentData, save func(body map[string]any) (id string, err error), done string) (web.HTML,
	error,
) {
	do := p.Form["do"]
	if p.Form["nested"] == "1" {
		return p.workOnText(d, save, done)
	}
	d.Any, d.Rows = p.Form["match"] == "any", d.fields.sentRows(do == "")
	where, adds := strings.CutPrefix(do, "add")
	if no, ok := strings.CutPrefix(do, "remove."); ok {
		d.Rows = slices.DeleteFunc(d.Rows, func(row segmentRow) bool { return strconv.Itoa(row.No) == no })
	}
	if len(d.Rows) == 0 || adds && d.More() {
		d.add(strings.TrimPrefix(where, "."))
	}
	marked := slices.ContainsFunc(d.Rows, func(row segmentRow) bool { return row.Wrong != "" })
	rule, complete := p.ruleOf(d.Rows, d.Any)
	switch {
	case do == "" && (marked || !complete):
		d.Form = filled{values: p.Form}
		return p.showSegment(d, View{Fault: p.T("Fix the highlighted conditions."), Status: http.StatusBadRequest})
	case do == "":
		return p.saveSegment(d, rule, save, done)
	case complete:
		if err := d.figure(p, rule, do == "exact"); err != nil {
			return web.HTML{}, err
		}
	default:
		if err := d.partFigure(p); err != nil {
			return web.HTML{}, err
		}
	}
	return p.showWork(d)
}

// workOnText handles a submitted form whose rule is edited as JSON.
func (p *Page) workOnText(d *segmentData, save func(body map[string]any) (id string, err error), done string) (web.HTML,
	error,
) {
	if err := d.read(); err != nil {
		return web.HTML{}, err
	}
	d.Text = p.Form["json"]
	rule, do := json.RawMessage(d.Text), p.Form["do"]
	switch {
	case !json.Valid(rule):
		d.Form = filled{values: p.Form}
		fault := p.T("This isn't valid JSON. Check it and save again.")
		return p.showSegment(d, View{Fault: fault, Status: http.StatusBadRequest})
	case do == "":
		return p.saveSegment(d, rule, save, done)
	}
	if err := d.figure(p, rule, do == "exact"); err != nil {
		return web.HTML{}, err
	}
	return p.showWork(d)
}

// showWork shows the unsaved form, or the part that a script requests.
func (p *Page) showWork(d *segmentData) (web.HTML, error) {
	d.Form = filled{values: p.Form}
	if part, ok := p.Partial(); ok && (part == "rule" || part == "count") {
		d.Oob = part == "rule"
		return p.ShowPart("segment", part+"-part", View{Data: d})
	}
	return p.showSegment(d, View{})
}

// saveSegment saves the form.
func (p *Page) saveSegment(d *segmentData, rule json.RawMessage, save func(map[string]any) (string, error),
	done string,
) (web.HTML, error) {
	id, err := save(map[string]any{"name": p.Form["name"], "rule": rule})
	if of := p.Query("campaign"); err == nil && of != "" && d.ID == "" {
		return p.chooseSegment(of, id)
	}
	if err == nil {
		to := p.Path("segments", id)
		if d.List != "" {
			to += "?list=" + url.QueryEscape(d.List)
		}
		return p.Redirect(to, done)
	}
	return p.refused(err, func(f filled, v View) (web.HTML, error) {
		d.Form = f
		if blameRow(d.Rows, f.at, v.Fault) {
			v.Fault = p.T("Fix the highlighted conditions.")
			d.Count.Fault = p.T("Fix the highlighted condition to see how many people match.")
		} else if err := d.figure(p, rule, false); err != nil {
			return web.HTML{}, err
		}
		return p.showSegment(d, v)
	})
}

// duplicateSegment copies a segment and opens the copy.
func (p *Page) duplicateSegment(g *core.Segment) (web.HTML, error) {
	var made core.Segment
	var err error
	for n := int64(1); n <= 20; n++ {
		name := p.T("{{name}} (copy)", "name", g.Name)
		if n > 1 {
			name = p.T("{{name}} (copy {{n}})", "name", g.Name, "n", n)
		}
		body := map[string]any{"tenant_id": g.TenantID, "name": name, "rule": json.RawMessage(g.Rule)}
		if err = p.Do(http.MethodPost, "/api/segments", body, &made); core.KindOf(err) != core.Conflict {
			break
		}
	}
	if fault, status, ok := p.FaultOf(err); ok {
		return p.showSaved(View{Fault: fault, Status: status})
	}
	if err != nil {
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("segments", made.ID), "segment-duplicated")
}

// deleteSegment asks for confirmation and deletes a segment. If the segment is in use, the page lists its uses.
func (p *Page) deleteSegment(g *core.Segment) (web.HTML, error) {
	here := p.Path("segments", g.ID)
	if !p.sure() {
		return p.Show("sure", View{
			Title:  p.T("Delete the segment “{{name}}”?", "name", g.Name),
			Within: []Link{{p.T("Segments"), p.Path("segments")}, {g.Name, here}},
			Data: secondStep{
				Text:   p.T("People stay on their lists. You can't undo this."),
				Button: p.T("Delete segment"), Back: here, Fields: []option{{"do", "delete"}},
			},
		})
	}
	err := p.Do(http.MethodDelete, "/api/segments/"+g.ID, nil, nil)
	if fault, status, ok := p.FaultOf(err); ok {
		return p.showSaved(View{Fault: fault, Status: status})
	}
	if err != nil {
		return web.HTML{}, err
	}
	return p.Redirect(p.Path("segments"), "deleted")
}

// faultField returns the API field to which an error refers.
func faultField(err error) string {
	e, ok := errors.AsType[*core.Error](err)
	if !ok {
		return ""
	}
	return e.Field
}
