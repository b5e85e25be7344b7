package audience

import (
	"cmp"
	"context"
	"slices"

	"newsletterd/core"
	"newsletterd/store/db"
)

// campaignsUsing selects the unsent campaigns of the tenant of segment ?1 that need it. An approved campaign is among
// them, because its rule is read once more when it is sent.
const campaignsUsing = `SELECT 'campaign' AS kind, c.id, iif(c.name = '', c.subject, c.name) AS name FROM segment AS g
	CROSS JOIN campaign AS c INDEXED BY campaign_tenant ON c.tenant_id = g.tenant_id AND
	c.state IN ('draft', 'in_review', 'approved')
	CROSS JOIN campaign_version AS v ON v.campaign_no = c.no AND v.version = c.version
	WHERE g.id = ?1 AND v.fields <> '' AND (json_extract(v.fields, '$.segment_id') = ?1 OR
	EXISTS (SELECT 1 FROM json_each(v.fields, '$.exclude_segment_ids') WHERE value = ?1))
	ORDER BY c.no LIMIT +?2`

// relatives selects the other segments of the tenant of a segment.
var relatives = "SELECT " + segmentTable.Columns + ` FROM segment INDEXED BY segment_name
	WHERE tenant_id = (SELECT tenant_id FROM segment WHERE id = ?1) AND id <> ?1`

// SegmentUses returns the unsent campaigns that need a segment and the segments that refer to it, up to limit of each
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

// refersTo reports whether the rule of a segment names another one.
func refersTo(g *core.Segment, id string) (found bool) {
	rule, err := g.ParsedRule()
	if err != nil {
		return false
	}
	rule.Leaves("", func(_ string, leaf *core.Rule) { found = found || leaf.Segment == id })
	return found
}
