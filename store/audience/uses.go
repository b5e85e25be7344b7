package audience

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
)

// campaignsUsing selects the unsent campaigns of a tenant that name segment ?1. An approved campaign has a stored rule,
// but it becomes a draft again when it is edited.
const campaignsUsing = `SELECT 'campaign' AS kind, c.id, iif(c.name = '', c.subject, c.name) AS name FROM segment AS g
	CROSS JOIN campaign AS c INDEXED BY campaign_tenant ON c.tenant_id = g.tenant_id AND
	c.state IN ('draft', 'in_review', 'approved', 'scheduled')
	CROSS JOIN campaign_version AS v ON v.campaign_no = c.no AND v.version = c.version
	WHERE g.id = ?1 AND v.fields <> '' AND (json_extract(v.fields, '$.segment_id') = ?1 OR
	EXISTS (SELECT 1 FROM json_each(v.fields, '$.exclude_segment_ids') WHERE value = ?1))
	ORDER BY c.no LIMIT +?2`

// relatives is a query for all other segments of the tenant that a segment belongs to.
var relatives = "SELECT " + campaigns.SegmentTable.Columns + ` FROM segment INDEXED BY segment_name
	WHERE tenant_id = (SELECT tenant_id FROM segment WHERE id = ?1) AND id <> ?1`

// SegmentUses returns the unsent campaigns that use a segment and the segments that refer to it, up to limit of each
// kind. The only error is core.ErrStorage.
func (s *Store) SegmentUses(ctx context.Context, id string, limit int) (uses []core.SegmentUse, err error) {
	return segmentUses(s.Reads(ctx), id, limit)
}

func segmentUses(q db.Querier, id string, limit int) (uses []core.SegmentUse, err error) {
	if err := q.All(&uses, campaignsUsing, id, limit); err != nil {
		return nil, err
	}
	var others []core.Segment
	if err := q.All(&others, relatives, id); err != nil {
		return nil, err
	}
	slices.SortFunc(others, func(a, b core.Segment) int { return cmp.Compare(a.Name, b.Name) })
	n := 0
	for i := range others {
		if n < limit && refersTo(&others[i], id) {
			uses = append(uses, core.SegmentUse{Kind: "segment", ID: others[i].ID, Name: others[i].Name})
			n++
		}
	}
	return uses, nil
}

// refersTo reports whether the rule of g names the segment with the given id.
func refersTo(g *core.Segment, id string) (found bool) {
	if !strings.Contains(string(g.Rule), id) { // most rules don't contain the id, and this is cheaper than parsing
		return false
	}
	rule, err := g.ParsedRule()
	if err != nil {
		return false
	}
	rule.Leaves("", func(_ string, leaf *core.Rule) { found = found || leaf.Segment == id })
	return found
}

// mayStay returns an Invalid error if changing a segment would make a segment that refers to it invalid.
func mayStay(tx *db.Tx, g *core.Segment) error {
	var others []core.Segment
	if err := tx.All(&others, relatives, g.ID); err != nil {
		return err
	}
	for _, o := range referring(others, g.ID) {
		rule, err := o.ParsedRule()
		if err != nil {
			return err
		}
		switch err := campaigns.CheckReferences(tx, g.TenantID, "rule", rule, g); {
		case core.KindOf(err) == core.Invalid:
			return core.Invalidf("rule",
				"rule: the segment %q refers to this one. Together they are nested too deeply or have more than %d "+
					"conditions. Remove some.", o.Name, core.MaxInlined)
		case err != nil:
			return err
		}
	}
	return nil
}

// referring returns the segments that refer to a segment with the given id, directly or through other segments.
func referring(all []core.Segment, id string) (found []*core.Segment) {
	ids := []string{id}
	for n := 0; n < len(ids); n++ {
		for i := range all {
			if !slices.Contains(ids, all[i].ID) && refersTo(&all[i], ids[n]) {
				ids, found = append(ids, all[i].ID), append(found, &all[i])
			}
		}
	}
	return found
}
