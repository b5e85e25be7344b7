package drafts

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/mail"
)

// maxCoverage is the maximum number of fields that a check reports.
const maxCoverage = 200

// fieldCoverage returns the fields of a draft's subscribers, with the number of subscribers who have each one. A field
// in the email that some subscribers lack is a finding.
func (d Drafts) fieldCoverage(ctx context.Context, l *Look) (out []core.FieldCoverage, found []core.CampaignFinding,
	err error,
) {
	lists := l.Draft.Fields.ListIDs
	known, readers, all, err := d.Store.FieldCoverage(ctx, lists)
	if err != nil {
		return nil, nil, err
	}
	out = []core.FieldCoverage{}
	add := func(name, label string) {
		listed := slices.ContainsFunc(out, func(c core.FieldCoverage) bool { return c.Name == name })
		if name != core.TrackingMember && !listed && len(out) < maxCoverage {
			out = append(out, core.FieldCoverage{Name: name, Label: label, Known: known[name], Readers: readers})
		}
	}
	for _, id := range lists {
		list, err := d.Store.List(ctx, id)
		if core.KindOf(err) == core.NotFound {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		for _, f := range list.Fields {
			add(f.Name, f.Label)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		add(name, "")
	}
	if l.Bulk == nil {
		return out, nil, nil
	}
	used, err := l.Bulk.UsedFields()
	if err != nil {
		return nil, nil, err
	}
	for _, u := range used {
		name := strings.TrimPrefix(u.Name, "preferences.")
		add(name, "")
		i := slices.IndexFunc(out, func(c core.FieldCoverage) bool { return c.Name == name })
		if i < 0 {
			continue
		}
		c := &out[i]
		if c.Used, c.Default = true, u.Default; c.Known < c.Readers {
			found = append(found, fieldFinding(&l.Draft.Fields, u, c, all))
		}
	}
	return out, found, nil
}

// fieldFinding reports how many subscribers lack a field and what they see instead.
func fieldFinding(f *core.CampaignFields, u mail.UsedField, c *core.FieldCoverage, all bool) core.CampaignFinding {
	at := core.FindingPlace{Field: u.Part}
	if u.Part == "content.source" {
		at = placeIn(f, u.Name)
	}
	who, reads := "%d subscribers", "nothing in its place"
	if !all {
		who = "the %d newest subscribers"
	}
	if u.Default != "" {
		reads = "the fallback “" + u.Default + "”"
	}
	found := core.Warningf("field_missing", at, "Preview the email as one of them, or fill in the field.",
		"%d of %s have no %s and see %s.", c.Readers-c.Known, fmt.Sprintf(who, c.Readers), u.Name, reads)
	found.Name = u.Name
	return found
}

// lookForForeignTags adds findings for other products' merge tags in a draft, which subscribers would see as plain
// text. Each finding includes the replacement.
func (d Drafts) lookForForeignTags(ctx context.Context, l *Look) error {
	f := &l.Draft.Fields
	own, err := d.ownFields(ctx, f.ListIDs)
	if err != nil {
		return err
	}
	var found []core.CampaignFinding
	tell := func(text string, at func(octet int) core.FindingPlace) {
		for _, t := range mail.ForeignTags(text, own) {
			do := "remove it"
			if t.Write != "" {
				do = "write " + t.Write
			}
			f := core.Warningf("placeholder_foreign", at(t.At), "To send it as it is, put it between {% raw %} "+
				"and {% endraw %}.", "%s is a merge tag from another newsletter service: %s.", t.Text, do)
			f.Name, f.Write = t.Text, t.Write
			found = append(found, f)
		}
	}
	in := func(field, text string) {
		tell(text, func(octet int) core.FindingPlace {
			at := core.FindingPlace{Field: field}
			if strings.HasPrefix(field, "content.") && field != "content.layout" {
				at.Line = 1 + strings.Count(text[:octet], "\n")
			}
			return at
		})
	}
	for _, part := range []struct{ field, text string }{
		{"subject", f.Subject},
		{"preheader", f.Preheader},
		{"content.text", f.Content.Text},
		{"content.layout", l.Draft.Content.Layout.BodyHTML},
		{"content.layout", l.Draft.Content.Layout.BodyText},
	} {
		in(part.field, part.text)
	}
	if f.Content.Kind != core.ContentBlocks {
		in("content.source", f.Content.Source)
	}
	var document struct {
		Blocks []any `json:"blocks"`
	}
	if f.Content.Kind == core.ContentBlocks && json.Unmarshal([]byte(f.Content.Source), &document) == nil {
		for n, block := range document.Blocks {
			at := core.FindingPlace{Field: "content.source", Block: n + 1}
			tell(strings.Join(textsOf(nil, block), "\n"), func(int) core.FindingPlace { return at })
		}
	}
	l.Findings = append(l.Findings, found[:min(len(found), maxForeignFindings)]...)
	return nil
}

// maxForeignFindings is the maximum number of other products' merge tags that a check reports.
const maxForeignFindings = 100

// ownFields returns a function that maps another product's field name to the name of a field in the lists.
func (d Drafts) ownFields(ctx context.Context, lists []string) (func(string) string, error) {
	var fields core.Fields
	for _, id := range lists {
		list, err := d.Store.List(ctx, id)
		if core.KindOf(err) == core.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		fields = append(fields, list.Fields...)
	}
	return func(name string) string {
		known := core.KnownField(name)
		for _, f := range fields {
			if strings.EqualFold(f.Name, name) || known != "" && (core.KnownField(f.Name) == known ||
				core.KnownField(f.Label) == known) {
				return f.Name
			}
		}
		return ""
	}, nil
}

// textsOf appends all strings in a JSON value to all. It visits the keys of objects in sorted order.
func textsOf(all []string, v any) []string {
	switch v := v.(type) {
	case string:
		return append(all, v)
	case []any:
		for _, e := range v {
			all = textsOf(all, e)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = textsOf(all, v[key])
		}
	}
	return all
}
