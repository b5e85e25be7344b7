package segments

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// Room holds the dependencies of the endpoints.
type Room struct {
	Store *store.Store

	turns web.Turn // limits concurrent evaluations of rules
}

// Routes adds the endpoints.
func (r *Room) Routes(t *web.Table) {
	r.turns = web.NewTurns(evaluations)
	r.recordRoutes(t)
	r.countRoutes(t)
	r.peopleRoutes(t)
	r.tagRoutes(t)
	r.bulkRoutes(t)
}

const (
	all  = "/api/segments"
	item = all + "/:id"
)

// newSegment is the body of POST /api/segments.
type newSegment struct {
	TenantID string        `json:"tenant_id" like:"tenant"`
	Name     *string       `json:"name" like:"name" max:"200"`
	Rule     core.RuleText `json:"rule"`
}

// JudgeKeys refuses keys that no segment has.
func (in *newSegment) JudgeKeys(unknown []string) error {
	return core.JudgeChange[newSegment, core.Segment](unknown)
}

// changedSegment is the body of PUT /api/segments/{id}. An absent field stays unchanged. null is rejected, because it
// could mean a segment of everyone.
type changedSegment struct {
	Name    *string       `json:"name" is:"value" like:"name" max:"200"`
	Rule    core.RuleText `json:"rule" is:"value"`
	IfMatch *string       `header:"If-Match"`
}

// JudgeKeys refuses keys that no segment has.
func (in *changedSegment) JudgeKeys(unknown []string) error {
	return core.JudgeChange[changedSegment, core.Segment](unknown)
}

// ExampleRule is the rule used in examples.
var ExampleRule = web.Object{"all": []web.Object{
	{"field": "plan", "is": []string{"yearly"}}, {"joined": web.Object{"before_days": 30}},
}}

// saidByRule holds the OpenAPI refusals for a rule.
var saidByRule = []web.Refusal{
	web.Refused("rule", "Not a valid rule; the field is the JSON path of the wrong condition, for example rule.all[0]"),
}

func (r *Room) recordRoutes(t *web.Table) {
	read, write := core.ActionSegmentRead, core.ActionSegmentWrite
	rows := web.Crud(t, all, "Segment", "a segment", "segments", web.Resource{
		Find: r.find, Missing: core.ErrSegmentNotFound, Who: web.Sent,
		List:   web.List(r.list, func(g core.Segment) string { return g.ID }),
		Create: web.JSON(r.create).Fails(core.NotFound, core.Conflict), Show: web.Path(r.show),
		Update: web.JSON(r.update).Fails(core.Conflict, core.PreconditionFailed, core.PreconditionRequired),
		Remove: web.Path(r.remove).Fails(core.Conflict),
		May:    web.Rights{Read: read, Create: write, Change: write, Remove: write},
	})
	said := append([]web.Refusal{
		web.Refused("name", "Empty, too long, or contains control characters"), web.ThereIsOne,
	}, saidByRule...)
	rows.List.Refuses(web.TenantNamed)
	rows.Create.Requires("name", "rule").
		Limits(web.OnlyKnown).
		Example(web.Object{"tenant_id": web.ExampleID, "name": "Yearly plans", "rule": ExampleRule}).
		Refuses(said...).
		Refuses(web.TenantNamed, web.Clash("The tenant has reached its limit for segments"))
	rows.Update.Example(web.Object{"name": "Yearly plans since spring"}).
		Refuses(said...)
	rows.Remove.Refuses(web.Clashing("segment_in_use", "", "An unsent campaign or another segment uses it"))
	t.Add("GET", item+"/uses", web.Sent(read), web.Member, r.one(web.Path(r.uses)),
		"List the unsent campaigns and the segments that use a segment").Named("listSegmentUses")
	t.Add("GET", "/api/segment-fields", web.Sent(read), web.Member, web.Query(r.fields),
		"List the fields for rules: those of the tenant's lists, and others that subscribers have").Named("listSegmentFields").
		Refuses(web.TenantNamed)
}

type foundSegment struct{}

// find reads the segment in the path. If the caller may not see it, find returns a 404 error.
func (r *Room) find(c *web.Call) error {
	g, err := r.Store.Segment(c, c.ID())
	c.Keep(foundSegment{}, &g)
	return web.OwnRecord(c, g.TenantID, core.ActionSegmentRead, err, core.ErrSegmentNotFound)
}

// found returns the segment that find has read.
func found(c *web.Call) *core.Segment { return c.Value(foundSegment{}).(*core.Segment) }

// one makes an endpoint operate on the segment in the path.
func (r *Room) one(e web.Endpoint) web.Endpoint {
	return e.Find(r.find).Missing(core.ErrSegmentNotFound)
}

func (r *Room) list(c *web.Call, in web.TenantFilter, page core.Page) ([]core.Segment, error) {
	tenant, err := web.OneTenant(c, in.TenantID)
	if err != nil {
		return nil, err
	}
	return r.Store.Segments(c, tenant, page)
}

func (r *Room) create(c *web.Call, in newSegment) (g core.Segment, err error) {
	tenant, err := web.OneTenant(c, in.TenantID)
	if err == nil {
		g, err = core.NewSegment(tenant, core.SegmentInput{Name: in.Name, Rule: in.Rule}, web.Actor(c), c.Now)
	}
	if err == nil {
		err = web.UnknownTenant(r.Store.AddSegment(c, g))
	}
	return tagged(c, g, err)
}

func (r *Room) show(c *web.Call, _ string) (core.Segment, error) { return tagged(c, *found(c), nil) }

func (r *Room) update(c *web.Call, in changedSegment) (core.Segment, error) {
	if in.IfMatch == nil {
		return core.Segment{}, &core.Error{Kind: core.PreconditionRequired, Field: "If-Match"}
	}
	g, err := r.Store.ChangeSegment(c, c.ID(), web.Actor(c), func(g *core.Segment) error {
		if !named(g, *in.IfMatch) {
			return &core.Error{Kind: core.PreconditionFailed, Code: "changed_meanwhile"}
		}
		return g.Change(core.SegmentInput{Name: in.Name, Rule: in.Rule}, web.Actor(c), c.Now)
	})
	return tagged(c, g, err)
}

// tagOf returns the ETag for a segment's current revision.
func tagOf(g *core.Segment) string { return `"` + strconv.FormatInt(g.Revision, 10) + `"` }

// named reports whether an If-Match header contains the ETag of the segment's current revision.
func named(g *core.Segment, ifMatch string) bool {
	for tag := range strings.SplitSeq(ifMatch, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || tag == tagOf(g) {
			return true
		}
	}
	return false
}

// tagged sets the ETag of a response with a segment.
func tagged(c *web.Call, g core.Segment, err error) (core.Segment, error) {
	if err == nil {
		c.Header().Set("ETag", tagOf(&g))
	}
	return g, err
}

func (r *Room) remove(c *web.Call, id string) (web.None, error) {
	return web.None{}, r.Store.DeleteSegment(c, id, web.Actor(c), c.Now)
}

// maxUses is the maximum number of uses listed in a response, for each kind.
const maxUses = 50

func (r *Room) uses(c *web.Call, id string) ([]core.SegmentUse, error) {
	uses, err := r.Store.SegmentUses(c, id, maxUses)
	return append([]core.SegmentUse{}, uses...), err
}

// segmentField is a field that one or more lists have, with the same type.
type segmentField struct {
	Name    string   `json:"name" about:"Name of the field, as in a rule"`
	Label   string   `json:"label" about:"Label shown to people; the name if no list asks for the field"`
	Type    string   `json:"type" enum:"text|choice|boolean" about:"text, choice or boolean, as in the lists' fields"`
	SetBy   string   `json:"set_by" enum:"subscriber|team|mixed" about:"Who can set it: mixed if only the team can, but not on all lists of the tenant. A list that doesn't have the field lets subscribers set it"`
	Options []string `json:"options" about:"Options of a choice in any of the lists"`
	Lists   []string `json:"lists" about:"IDs of the lists that ask for it"`
}

// listPage is the number of lists in one read.
const listPage = 200

func (r *Room) fields(c *web.Call, in web.TenantFilter) ([]segmentField, error) {
	tenant, err := web.OneTenant(c, in.TenantID)
	if err != nil {
		return nil, err
	}
	fields, ids := []segmentField{}, []string{}
	for page := (core.Page{Limit: listPage}); ; {
		lists, err := r.Store.Lists(c, []string{tenant}, false, page)
		if err != nil {
			return nil, err
		}
		for i := range lists {
			ids = append(ids, lists[i].ID)
			for j := range lists[i].Fields {
				fields = withField(fields, lists[i].ID, &lists[i].Fields[j])
			}
		}
		if len(lists) < listPage {
			break
		}
		page.After = lists[len(lists)-1].ID
	}
	setByTeam(fields, len(ids))
	if c.Caller.May(core.ActionSegmentWrite, tenant) {
		if fields, err = r.imported(c, ids, fields); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(fields, func(a, b segmentField) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Type, b.Type))
	})
	return fields, nil
}

// imported adds fields that subscribers have but no list declares, such as those from an imported file. It checks only
// the newest subscribers.
func (r *Room) imported(c *web.Call, lists []string, fields []segmentField) ([]segmentField, error) {
	known, _, _, err := r.Store.FieldCoverage(c, lists)
	for name := range known {
		declared := slices.ContainsFunc(fields, func(f segmentField) bool { return f.Name == name })
		if !declared && core.IsFieldName(name) {
			fields = append(fields, segmentField{
				Name: name, Label: name, Type: core.FieldText, SetBy: core.SetBySubscriber, Options: []string{},
				Lists: []string{},
			})
		}
	}
	return fields, err
}

// setByBoth is SetBy of a field that subscribers can set on only some of the tenant's lists.
const setByBoth = "mixed"

// setByTeam changes SetBy to setByBoth for fields that only some of the tenant's lists reserve for the team. lists is
// the number of lists.
func setByTeam(fields []segmentField, lists int) {
	reserved := map[string]int{}
	for i := range fields {
		if fields[i].SetBy == core.SetByTeam {
			reserved[fields[i].Name] += len(fields[i].Lists)
		}
	}
	for i := range fields {
		if fields[i].SetBy == core.SetByTeam && reserved[fields[i].Name] < lists {
			fields[i].SetBy = setByBoth
		}
	}
}

// withField adds a list's field to fields.
func withField(fields []segmentField, list string, f *core.Field) []segmentField {
	at := slices.IndexFunc(fields, func(s segmentField) bool { return s.Name == f.Name && s.Type == f.Type })
	if at < 0 {
		at = len(fields)
		fields = append(fields, segmentField{
			Name: f.Name, Label: f.Label, Type: f.Type, SetBy: f.SetBy, Options: []string{},
		})
	}
	s := &fields[at]
	if s.SetBy != f.SetBy {
		s.SetBy = setByBoth
	}
	s.Lists = append(s.Lists, list)
	for _, option := range f.Options {
		if !slices.Contains(s.Options, option) {
			s.Options = append(s.Options, option)
		}
	}
	return fields
}
