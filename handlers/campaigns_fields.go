package handlers

import (
	"context"
	"maps"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/mail"
)

// maxCoverage is how many fields a check tells of.
const maxCoverage = 200

// fieldCoverage tells which fields the readers of a draft have and how many of them lack what the mail prints, which is
// a finding of each such field.
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

// fieldFinding says how many readers lack a field, and what they read in its place.
func fieldFinding(f *core.CampaignFields, u mail.UsedField, c *core.FieldCoverage, all bool) core.CampaignFinding {
	at := core.FindingPlace{Field: u.Part}
	if u.Part == "content.source" {
		at = placeIn(f, u.Name)
	}
	who, reads := "readers", "nothing there"
	if !all {
		who = "readers that were looked at, the newest ones,"
	}
	if u.Default != "" {
		reads = "“" + u.Default + "”"
	}
	return core.Warningf("field_missing", at, "Look at the mail as one of them reads it, or fill the field in.",
		"%d of %d %s have no %s and read %s.", c.Readers-c.Known, c.Readers, who, u.Name, reads)
}
