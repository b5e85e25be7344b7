package handlers

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/mail"
)

// lookForForeignTags adds the merge tags of other programs that stand in a draft, with what to write instead. Readers
// would see them as they are written.
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
			found = append(found, core.Warningf("placeholder_foreign", at(t.At), "To have it sent as it is written, put it "+
				"between {% raw %} and {% endraw %}.", "%s is a merge tag of another program: %s.", t.Text, do))
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

// maxForeignFindings is how many merge tags of other programs a check tells of.
const maxForeignFindings = 100

// ownFields returns what finds the name of a field that one of the lists asks for, by a name of another program.
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

// textsOf appends the texts of a JSON value, those of objects in the order of their keys.
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
