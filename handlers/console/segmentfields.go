package console

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"newsletterd/core"
)

// segmentField is a field that conditions can check, as returned by the API.
type segmentField struct {
	Name    string   `json:"name"`
	Label   string   `json:"label"`
	Type    string   `json:"type"`
	SetBy   string   `json:"set_by"`
	Options []string `json:"options"`
}

// segmentFields holds what conditions can check: fields, campaigns, lists, segments and tags.
type segmentFields struct {
	page    *Page
	fields  []segmentField
	lists   []core.CountedList
	self    string              // the edited segment, which can't refer to itself
	records map[string][]option // loaded campaigns, segments and tags, by subject
	links   map[string][]option // loaded links and answers, by subject and campaign
	tags    []core.Tag          // loaded with the records
}

// segmentFields reads the tenant's fields and lists. self is the id of the segment being edited.
func (p *Page) segmentFields(self string) (*segmentFields, error) {
	f := &segmentFields{page: p, self: self, records: map[string][]option{}, links: map[string][]option{}}
	var found []segmentField
	if _, err := p.Get("/api/segment-fields", p.ofTenant(), &found); err != nil {
		return nil, err
	}
	for i := range found {
		one := &found[i]
		if one.Label == "" || one.Label == one.Name { // no list has it
			one.Label = p.knownLabel(one.Name)
		}
		if last := len(f.fields) - 1; last >= 0 && f.fields[last].Name == one.Name { // lists have it with different types
			f.fields[last].Type = core.FieldText
			if f.fields[last].SetBy != one.SetBy {
				f.fields[last].SetBy = core.SetBySubscriber
			}
			continue
		}
		f.fields = append(f.fields, *one)
	}
	var err error
	f.lists, err = p.peopleLists()
	return f, err
}

func (f *segmentFields) listIDs() []string { return listIDs(f.lists) }

func listIDs(lists []core.CountedList) (ids []string) {
	for i := range lists {
		ids = append(ids, lists[i].ID)
	}
	return ids
}

// field returns the field with this name. If no list has the field, it is a text field.
func (f *segmentFields) field(name string) segmentField {
	for _, one := range f.fields {
		if one.Name == name {
			return one
		}
	}
	return segmentField{Name: name, Label: cmp.Or(f.page.knownLabel(name), name), Type: core.FieldText}
}

// kind returns a subject's key in segmentOps.
func (f *segmentFields) kind(of string) string {
	name, isField := strings.CutPrefix(of, subjectField)
	if !isField {
		return of
	}
	if t := f.field(name).Type; segmentOps[t] != nil {
		return t
	}
	return core.FieldText
}

// subject returns the label of a subject.
func (f *segmentFields) subject(of string) string {
	if name, ok := strings.CutPrefix(of, subjectField); ok {
		return f.field(name).Label
	}
	for _, s := range segmentSubjects {
		if s.name == of {
			return f.page.T(s.text)
		}
	}
	return of
}

// optionGroup is a group of options in a select input.
type optionGroup struct {
	Label   string
	Options []option
}

// Subjects returns the options for a row's subject.
func (f *segmentFields) Subjects(row segmentRow) []optionGroup {
	team := optionGroup{Label: f.page.T("Fields only your team can change")}
	fields := optionGroup{Label: f.page.T("Fields subscribers can change")}
	for _, one := range f.fields {
		group := &fields
		if one.SetBy == core.SetByTeam {
			group = &team
		}
		group.Options = append(group.Options, option{subjectField + one.Name, one.Label})
	}
	if name, ok := strings.CutPrefix(row.Of, subjectField); ok && !hasOption(fields.Options, row.Of) &&
		!hasOption(team.Options, row.Of) {
		fields.Options = append(fields.Options, option{row.Of, f.field(name).Label})
	}
	rest := optionGroup{Label: f.page.T("Subscription")}
	for _, s := range segmentSubjects {
		rest.Options = append(rest.Options, option{s.name, f.page.T(s.text)})
	}
	return slices.DeleteFunc([]optionGroup{team, fields, rest}, func(g optionGroup) bool { return len(g.Options) == 0 })
}

// Place returns the position of a row's subject. It is part of the ids of the row's inputs, because the inputs change
// with the subject.
func (f *segmentFields) Place(row segmentRow) (n int) {
	for _, g := range f.Subjects(row) {
		for _, o := range g.Options {
			if n++; o.Value == row.Of {
				return n
			}
		}
	}
	return 0
}

// Ops returns the operators for a row. Text fields can contain numbers and dates, so operators for these have a
// heading. The first group has none.
func (f *segmentFields) Ops(row segmentRow) (out []optionGroup) {
	last := ""
	for _, op := range segmentOps[f.kind(row.Of)] {
		if out == nil || op.For != last {
			out, last = append(out, optionGroup{Label: f.page.T(op.For)}), op.For
		}
		group := &out[len(out)-1]
		group.Options = append(group.Options, option{op.Name, f.page.T(op.Text)})
	}
	return out
}

// chip is a value of a field with options.
type chip struct {
	No   int
	Text string
	On   bool
}

// Chips returns the values that a row offers.
func (f *segmentFields) Chips(row segmentRow) (out []chip) {
	name, _ := strings.CutPrefix(row.Of, subjectField)
	all := slices.Clone(f.field(name).Options)
	for _, v := range row.Chosen {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	for i, v := range all {
		out = append(out, chip{i + 1, v, slices.Contains(row.Chosen, v)})
	}
	return out
}

// Limits on the campaigns and segments that a row offers.
const (
	maxCampaignChoices = 200
	maxSegmentChoices  = core.MaxSegments
)

// Records returns the campaigns, lists, segments or tags that a row offers. If the chosen one no longer exists, it
// remains until another is chosen.
func (f *segmentFields) Records(row segmentRow) ([]option, error) {
	p := f.page
	if f.records[row.Of] == nil {
		found := []option{}
		var err error
		switch row.Of {
		case subjectList:
			found = listOptions(f.lists, found...)
		case subjectSegment:
			var all []core.Segment
			if all, err = p.allSegments(); err == nil {
				found = segmentOptions(all, f.self, found...)
			}
		case subjectReceived, subjectLink, subjectPoll:
			found, err = p.sentCampaigns()
		case subjectLanguage:
			found = append(found, p.Languages()...)
		case subjectTag:
			f.tags, err = p.allTags()
			for i := range f.tags {
				found = append(found, option{f.tags[i].Name, f.tags[i].Name})
			}
		}
		if err != nil {
			return nil, err
		}
		f.records[row.Of] = found
	}
	out := append([]option{{"", p.T("Choose…")}}, f.records[row.Of]...)
	if row.Value != "" && !hasOption(out, row.Value) {
		text := p.T("(deleted)")
		for i := range f.tags { // the rule contains its id, or its name in another case
			if row.Of == subjectTag && f.tags[i].Named(row.Value) {
				text = f.tags[i].Name
			}
		}
		if row.Of == subjectReceived || row.Of == subjectLink || row.Of == subjectPoll {
			name, err := p.campaignName(row.Value)
			if err != nil {
				return nil, err
			}
			text = name
		}
		out = append(out, option{row.Value, text})
	}
	return out, nil
}

// Links returns the links or answers that a row offers for its chosen campaign.
func (f *segmentFields) Links(row segmentRow) (out []option, err error) {
	key := row.Of + row.Value
	switch {
	case f.links[key] != nil:
	case row.Of == subjectPoll:
		if f.links[key], err = f.page.answers(row.Value); err != nil {
			return nil, err
		}
	default:
		var found []core.Link
		if _, err := f.page.readNamed(campaignAPI(row.Value, "links"), &found); err != nil {
			return nil, err
		}
		slices.SortFunc(found, func(a, b core.Link) int { return cmp.Compare(a.No, b.No) })
		options := []option{}
		for i := range found {
			options = append(options, option{strconv.FormatInt(found[i].No, 10), cut(found[i].URL, 80)})
		}
		f.links[key] = options
	}
	out = append([]option{{"", f.page.T("Choose…")}}, f.links[key]...)
	if row.Link != "" && !hasOption(out, row.Link) {
		out = append(out, option{row.Link, f.page.T("(deleted)")})
	}
	return out, nil
}

// sentCampaigns returns options for the campaigns that were sent, newest first.
func (p *Page) sentCampaigns() (out []option, err error) {
	out = []option{}
	for _, state := range []core.CampaignState{core.CampaignSending, core.CampaignSent, core.CampaignArchived} {
		q := p.ofTenant("state", string(state), "limit", "100")
		found, err := all[core.CampaignView](p, "/api/campaigns", q, maxCampaignChoices)
		if err != nil {
			return nil, err
		}
		for i := range found {
			if found[i].JobID != "" || state != core.CampaignArchived {
				out = append(out, option{found[i].ID, p.TitleOf(found[i])})
			}
		}
	}
	return out, nil
}

// allSegments reads the tenant's segments, sorted by name.
func (p *Page) allSegments() ([]core.Segment, error) {
	found, err := all[core.Segment](p, "/api/segments", p.ofTenant("limit", "100"), maxSegmentChoices)
	slices.SortFunc(found, func(a, b core.Segment) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	return found, err
}

func segmentOptions(all []core.Segment, except string, first ...option) []option {
	for i := range all {
		if all[i].ID != except {
			first = append(first, option{all[i].ID, all[i].Name})
		}
	}
	return first
}

// namedSegment returns a segment. If it was deleted, its name is its id.
func (p *Page) namedSegment(id string) (g core.Segment, err error) {
	_, err = p.readNamed("/api/segments/"+url.PathEscape(id), &g)
	g.Name = cmp.Or(g.Name, id)
	return g, err
}

// saidRule describes a rule: a condition, or a group with its heading.
type saidRule struct {
	Text  string
	Parts []saidRule
}

// SayRule describes the rule of a campaign's segments.
func (p *Page) SayRule(text core.RuleText) (out saidRule, err error) {
	rule, err := core.ParseInlined(text)
	if err != nil {
		return out, err
	}
	f, err := p.segmentFields("")
	if err != nil {
		return out, err
	}
	return f.say(rule)
}

// say describes a rule.
func (f *segmentFields) say(r *core.Rule) (out saidRule, err error) {
	p := f.page
	if row, ok := f.rowOf(r); ok {
		out.Text, err = f.sayRow(row)
		return out, err
	}
	parts := r.All
	switch {
	case r.All != nil:
		out.Text = p.T("All of these conditions match:")
	case r.Any != nil:
		out.Text, parts = p.T("Any of these conditions match:"), r.Any
	case r.Not != nil:
		out.Text, parts = p.T("This doesn't match:"), []core.Rule{*r.Not}
	case r.Except != nil: // includes people for whom the rule can't be evaluated
		out.Text, parts = p.T("Everyone except people who match:"), []core.Rule{*r.Except}
	default: // an operator that the form doesn't have for this field, or values with commas
		of, key, values := subjectField+r.Field, "is", slices.Concat(r.Source, r.Language)
		switch {
		case r.Source != nil:
			of = subjectSource
		case r.Language != nil:
			of = subjectLanguage
		case r.Poll != nil:
			of = subjectPoll
			key, values = valuesOfTest(r.Test)
		default:
			key, values = valuesOfTest(cmp.Or(r.Test, r.Joined, r.Consented, r.Opened, r.Clicked, &core.Test{}))
		}
		out.Text = f.sayOther(of, key, values)
		return out, nil
	}
	for i := range parts {
		part, err := f.say(&parts[i])
		if err != nil {
			return out, err
		}
		out.Parts = append(out.Parts, part)
	}
	return out, nil
}

// sayOther describes a condition that the form can't show.
func (f *segmentFields) sayOther(of, key string, values []string) string {
	subject, said := f.subject(of), key
	for _, op := range segmentOps[core.FieldText] {
		if op.Key == key && op.Value == "" && !op.Not {
			said = f.page.T(op.Text)
		}
	}
	for i := range values {
		values[i] = strconv.Quote(values[i])
	}
	return strings.TrimSpace(subject + " " + said + " " + strings.Join(values, ", "))
}

// sayRow describes the condition in a row.
func (f *segmentFields) sayRow(row segmentRow) (string, error) {
	p := f.page
	value := row.Value
	switch row.Op.Input {
	case inputOptions:
		value = strings.Join(row.Chosen, ", ")
	case inputDate:
		if day, err := time.ParseInLocation(time.DateOnly, value, p.Zone); err == nil {
			value = p.Date(core.At(day))
		}
	case inputRecord, inputLink:
		records, err := f.Records(row)
		if err != nil {
			return "", err
		}
		value = textOfOption(records, row.Value)
	}
	if row.Op.Input == inputLink {
		links, err := f.Links(row)
		return p.T(row.Op.Said, "value", value, "link", textOfOption(links, row.Link)), err
	}
	if row.Op.Said != "" {
		return p.T(row.Op.Said, "value", value), nil
	}
	said := f.subject(row.Of) + " " + p.T(row.Op.Text)
	if value != "" {
		said += " " + value
	}
	if row.Op.Unit != "" {
		said += " " + p.T(row.Op.Unit)
	}
	return said, nil
}

// textOfOption returns the text of the option with this value, or the value itself if there is none.
func textOfOption(options []option, value string) string {
	for _, o := range options {
		if o.Value == value {
			return o.Text
		}
	}
	return value
}
