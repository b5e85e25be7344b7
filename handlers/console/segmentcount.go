package console

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"newsletterd/core"
)

// segmentFigure holds the number of people in a segment, formatted for the page.
type segmentFigure struct {
	Figure string // number of people
	Of     string // total number of people on the lists
	Share  string // percentage, or the range
	Part   int64
	Whole  int64 // number of people that the full bar represents; 0: no bar
	Note   string
	Fault  string // why they can't be counted
	Exact  bool   // whether it was counted exactly
}

// figureOf formats a count.
func (p *Page) figureOf(c *core.SegmentCount) segmentFigure {
	f := segmentFigure{
		Of:    p.N("of 1 subscriber matches|of {{n}} subscribers match", c.Of),
		Whole: c.Of, Exact: c.Exact != nil,
	}
	switch {
	case c.Exact != nil:
		f.Part, f.Figure, f.Share = *c.Exact, p.Number(*c.Exact), p.Percent(*c.Exact, c.Of)
	case c.About != nil:
		f.Part, f.Figure = *c.About, p.T("About {{n}}", "n", p.Number(*c.About))
		if c.Low != nil && c.High != nil {
			f.Share = p.T("between {{low}} and {{high}}", "low", p.Number(*c.Low), "high", p.Number(*c.High))
		}
	case c.High != nil:
		f.Part, f.Figure = *c.High, p.T("Fewer than {{n}}", "n", p.Number(*c.High+1))
	}
	if f.Part == 0 {
		f.Share = ""
	}
	return f
}

// segmentCount counts the people on lists who match a rule or a segment. what holds either rule or segment_id.
func (p *Page) segmentCount(what map[string]any, lists []string) (sum core.SegmentCount, err error) {
	sum.Exact = new(int64)
	what["tenant_id"] = p.Tenant.ID
	for some := range slices.Chunk(lists, core.MaxCampaignLists) {
		what["list_ids"] = some
		var c core.SegmentCount
		if err := p.Do(http.MethodPost, "/api/segment-count", what, &c); err != nil {
			return sum, err
		}
		sum = sumOfCounts(&sum, &c)
	}
	return sum, nil
}

// sumOfCounts adds the counts of two sets of lists. The sum is exact if both counts are.
func sumOfCounts(a, b *core.SegmentCount) core.SegmentCount {
	out := core.SegmentCount{Of: a.Of + b.Of, AsOf: max(a.AsOf, b.AsOf)}
	if a.Exact != nil && b.Exact != nil {
		out.Exact = new(*a.Exact + *b.Exact)
		return out
	}
	add := func(x, y *int64) *int64 {
		if x == nil || y == nil {
			return nil
		}
		return new(*x + *y)
	}
	out.About = add(cmp.Or(a.Exact, a.About), cmp.Or(b.Exact, b.About))
	out.Low = add(cmp.Or(a.Exact, a.Low), cmp.Or(b.Exact, b.Low))
	out.High = add(cmp.Or(a.Exact, a.High), cmp.Or(b.Exact, b.High))
	return out
}

// countFault returns an explanation for visitors if people can't be counted. For other errors, ok is false.
func (p *Page) countFault(err error) (text string, ok bool) {
	if core.KindOf(err) == core.Unavailable {
		return p.T("newsletterd is busy counting other segments. Try again in a few seconds."), true
	}
	text, _, ok = p.FaultOf(err)
	return text, ok
}

// figure counts the people who match the conditions in the form.
func (d *segmentData) figure(p *Page, rule json.RawMessage, exact bool) error {
	what := map[string]any{"exact": exact}
	if rule != nil {
		what["rule"] = rule
	} else {
		what["segment_id"] = d.ID
	}
	lists := d.fields.listIDs()
	if d.List != "" {
		lists = []string{d.List}
	}
	if len(lists) == 0 {
		d.Count = segmentFigure{Fault: p.T("There are no lists yet.")}
		return nil
	}
	c, err := p.segmentCount(what, lists)
	if text, ok := p.countFault(err); ok {
		if at := faultField(err); rule == nil || !blameRow(d.Rows, at, text) {
			d.Count = segmentFigure{Fault: text}
		} else {
			d.Count = segmentFigure{Fault: p.T("Fix the highlighted condition to see how many people match.")}
		}
		return nil
	}
	if err != nil {
		return err
	}
	d.Count = p.figureOf(&c)
	if d.Count.Part == 0 || c.Exact == nil && c.About == nil {
		d.Count.Note = p.noteOnOpens(cmp.Or(core.RuleText(rule), d.Rule))
	}
	if d.Count.Note == "" && c.Exact == nil && !p.May(core.ActionPeopleRead) {
		d.Count.Note = p.T("Rounded because your role doesn't include access to people.")
	}
	return nil
}

// noteOnOpens explains why a rule about opens or clicks may match no one. For other rules it returns an empty string.
func (p *Page) noteOnOpens(text core.RuleText) (note string) {
	rule, err := core.ParseRule("rule", []byte(text))
	if err != nil {
		return ""
	}
	rule.Leaves("rule", func(_ string, leaf *core.Rule) {
		if leaf.Opened != nil || leaf.Clicked != nil {
			note = p.T("This condition counts only campaigns that track opens and clicks per subscriber. If there " +
				"are none, no one matches.")
		}
	})
	return note
}

// partFigure counts the people who match the form's complete conditions. It ignores unfinished ones.
func (d *segmentData) partFigure(p *Page) error {
	whole, done := d.Rows, []segmentRow{}
	for i := range whole {
		if whole[i].Wrong == "" {
			done = append(done, whole[i])
		}
		whole[i].Wrong = "" // unfinished input is not an error yet
	}
	rule, ok := p.ruleOf(done, d.Any)
	if !ok {
		return nil
	}
	d.Rows = done // API errors refer to these rows
	err := d.figure(p, rule, false)
	d.Rows = whole
	d.Count.Exact, d.Count.Note = true, p.T("Incomplete conditions aren't included in the count.")
	return err
}

// shownMatches is the number of people shown on a segment's page.
const shownMatches = 10

// matches reads the first people who match the saved rule, on one list or on all lists in order. If the rule can't be
// evaluated, it finds no one, and the count shows the reason.
func (d *segmentData) matches(p *Page) error {
	begun, seen := time.Now(), map[core.Email]bool{}
	for i := range d.fields.lists {
		l := &d.fields.lists[i]
		if d.List != "" && d.List != l.ID {
			continue
		}
		if time.Since(begun) > countingTime { // few people match; the count shows how many
			return nil
		}
		q := url.Values{"list_id": {l.ID}}
		var found []person
		if _, err := readShort(p, "/api/segments/"+url.PathEscape(d.ID)+"/people", q, shownMatches,
			&found); err != nil {
			if _, ok := p.countFault(err); ok {
				return nil
			}
			return err
		}
		for _, one := range found {
			if one.ListName = l.Name; !seen[one.Email] && len(d.People) < shownMatches {
				seen[one.Email] = true
				d.People = append(d.People, one)
			}
		}
		if len(d.People) >= shownMatches {
			return nil
		}
	}
	return nil
}

// segmentChoices sets the segments and tags that a campaign's settings offer.
func (p *Page) segmentChoices(d *editorData) error {
	if !d.Settings {
		return nil
	}
	all, err := p.allSegments()
	if err != nil {
		return err
	}
	if d.Tags, err = p.tagChoices(all); err != nil {
		return err
	}
	if len(all)+len(d.Tags) == 0 && !d.Segmented() && !p.May(core.ActionSegmentWrite) {
		return nil
	}
	d.Segments = segmentOptions(all, "", option{"", p.T("Everyone on the lists")})
	for _, id := range append([]string{d.SegmentID}, d.ExcludeSegmentIDs...) {
		if id != "" && !hasOption(d.Segments, id) {
			d.Segments = append(d.Segments, option{id, p.T("(deleted)")})
		}
	}
	return nil
}

// narrowedReaders describes the audience of a campaign that only some of its lists' subscribers get. The send page
// counts it in the same way.
func (p *Page) narrowedReaders(d *editorData) error {
	c := d.campaignPage
	if !c.Narrowed() || len(c.ListIDs) == 0 {
		return nil
	}
	var count countedAudience
	_, err := p.Get(campaignAPI(c.ID, "audience"), url.Values{"estimate": {"true"}}, &count)
	if _, ok := p.countFault(err); ok {
		d.Readers = p.T("can't be counted")
		return nil
	}
	if err != nil {
		return err
	}
	d.Readers = p.N("1 recipient|{{n}} recipients", count.Recipients)
	if count.Coarse || count.About {
		d.Readers = p.T("About {{n}}", "n", p.Number(count.Recipients))
	}
	if count.AtLeast {
		d.Readers = p.T("at least") + " " + d.Readers
	}
	return nil
}

// To returns the options for the recipients: segments and tags.
func (d *editorData) To() []option { return slices.Concat(d.Segments, d.Tags) }

// Outside reports whether a campaign excludes a segment.
func (d *editorData) Outside(id string) bool { return slices.Contains(d.ExcludeSegmentIDs, id) }
