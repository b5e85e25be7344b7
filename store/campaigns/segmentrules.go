package campaigns

import (
	"errors"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// SegmentTable is the table of segments.
var SegmentTable = db.TableOf[core.Segment]("segment", nil, []string{"tenant_id", "created_by", "created_at"})

// SegmentsOfTenant selects a page of a tenant's segments, sorted by id. A tenant has few segments, so sorting them is
// cheap.
var SegmentsOfTenant = "SELECT " + SegmentTable.Columns + ` FROM segment INDEXED BY segment_name
	WHERE tenant_id = ? AND id > ? ORDER BY id LIMIT +?`

const (
	tenantHasList     = "SELECT EXISTS (SELECT 1 FROM list WHERE id = ? AND tenant_id = ? AND deleted_at = 0)"
	tenantHasCampaign = "SELECT EXISTS (SELECT 1 FROM campaign WHERE id = ? AND tenant_id = ?)"
)

// segmentRule returns the rule of a tenant's segment. If the tenant has no such segment, it returns core.ErrNotFound.
func segmentRule(q db.Querier, tenantID, id string) (*core.Rule, error) {
	var g core.Segment
	if err := q.Get(&g, "SELECT rule FROM segment WHERE id = ? AND tenant_id = ?", id, tenantID); err != nil {
		return nil, err
	}
	return g.ParsedRule()
}

// inlineRule replaces references to segments in a tenant's rule with the rules of the segments. If a segment doesn't
// exist, it returns a core.Undecided error.
func inlineRule(q db.Querier, tenantID string, rule *core.Rule) (*core.Rule, error) {
	return rule.Inline("rule", func(path, id string) (*core.Rule, error) {
		of, err := segmentRule(q, tenantID, id)
		if errors.Is(err, core.ErrNotFound) {
			err = core.Undecided(path, "segment "+id+" doesn't exist")
		}
		return of, err
	})
}

// InlinedRule returns a tenant's rule in its frozen form: with all references inlined and all tags named by their ids.
// It returns the errors of MatchRule.
func InlinedRule(q db.Querier, tenantID string, rule *core.Rule, now core.Instant) (core.RuleText, error) {
	if _, err := MatchRule(q, tenantID, rule, now); err != nil {
		return "", err
	}
	inlined, err := inlineRule(q, tenantID, rule)
	if err == nil {
		err = withTagIDs(q, tenantID, inlined)
	}
	if err != nil {
		return "", err
	}
	return core.RuleText(inlined.JSON()), nil
}

// CheckReferences checks the segments that a rule of a tenant refers to. If one does not belong to the tenant, or if
// segments form a cycle or are nested too deeply, it returns an Invalid error. The error has the JSON path of the
// condition, which starts with path. changed replaces the stored segment that has its id.
func CheckReferences(q db.Querier, tenantID, path string, rule *core.Rule, changed *core.Segment) error {
	_, err := rule.Inline(path, func(at, id string) (*core.Rule, error) {
		if id == changed.ID {
			return changed.ParsedRule()
		}
		of, err := segmentRule(q, tenantID, id)
		if errors.Is(err, core.ErrNotFound) {
			err = core.Invalidf(at, "%s: segment %s not found. Choose another one.", at, id)
		}
		return of, err
	})
	return err
}

// CheckRule is like CheckReferences, for all records in a rule. Lists, campaigns and tags must belong to the tenant,
// too. The rule must contain their ids, but can also contain the names of tags.
func CheckRule(q db.Querier, tenantID, path string, rule *core.Rule, changed *core.Segment) error {
	err := rule.CheckIDs(path)
	if err == nil {
		err = CheckReferences(q, tenantID, path, rule, changed)
	}
	if err != nil {
		return err
	}
	rule.Leaves(path, func(at string, leaf *core.Rule) {
		noun, id := leaf.Names()
		if id == "" || err != nil {
			return
		}
		var known bool
		if known, err = refersToTenant(q, tenantID, leaf); err == nil && !known {
			err = core.Invalidf(at, "%s: %s %s not found. Choose another one.", at, noun, id)
		}
	})
	return err
}

// refersToTenant reports whether the list, campaign or tag in a condition belongs to the tenant.
func refersToTenant(q db.Querier, tenantID string, leaf *core.Rule) (known bool, err error) {
	switch {
	case leaf.OnList != "":
		return HasList(q, tenantID, leaf.OnList)
	case leaf.Campaign() != "":
		err = q.Get(&known, tenantHasCampaign, leaf.Campaign(), tenantID)
	case leaf.Tag != "":
		_, err = tenants.TagNamed(q, tenantID, leaf.Tag)
		if known = err == nil; errors.Is(err, core.ErrTagNotFound) {
			err = nil
		}
	default:
		known = true
	}
	return known, err
}

// HasList reports whether a tenant has a list with this id that is not deleted.
func HasList(q db.Querier, tenantID, listID string) (has bool, err error) {
	err = q.Get(&has, tenantHasList, listID, tenantID)
	return has, err
}

// segmentIDs returns the ids of a campaign's segments, and of the segments that their rules refer to.
func segmentIDs(q db.Querier, tenantID string, n *core.Narrowing) (ids []string, err error) {
	for _, id := range namedSegments(n) {
		ids = append(ids, id)
		rule, err := segmentRule(q, tenantID, id)
		if err == nil {
			_, err = rule.Inline("rule", func(_, id string) (*core.Rule, error) {
				ids = append(ids, id)
				return segmentRule(q, tenantID, id)
			})
		}
		if err != nil && core.KindOf(err) != core.NotFound {
			return nil, err
		}
	}
	return ids, nil
}

func namedSegments(n *core.Narrowing) []string {
	if n.SegmentID == "" {
		return n.ExcludeSegmentIDs
	}
	return append([]string{n.SegmentID}, n.ExcludeSegmentIDs...)
}

// ruleOf returns the current rule of a campaign's segments, with all references inlined. If the campaign names no
// segment, it returns nil. Its errors are core.Undecided errors and core.ErrStorage.
func ruleOf(q db.Querier, tenantID string, n *core.Narrowing) (*core.Rule, error) {
	var rules []*core.Rule
	for _, id := range namedSegments(n) {
		rule, err := segmentRule(q, tenantID, id)
		if errors.Is(err, core.ErrNotFound) {
			err = core.Undecided("rule", "segment "+id+" doesn't exist")
		}
		if err == nil {
			rule, err = inlineRule(q, tenantID, rule)
		}
		if err != nil {
			return nil, err
		}
		rules = append(rules, rule)
	}
	only, excluded := (*core.Rule)(nil), rules
	if n.SegmentID != "" {
		only, excluded = rules[0], rules[1:]
	}
	combined := core.Combined(only, excluded)
	if combined == nil {
		return nil, nil
	}
	if _, err := combined.Inline("rule", nil); err != nil { // checks the size; no references are left
		return nil, core.Undecided("rule", "its segments together have too many conditions")
	}
	return combined, withTagIDs(q, tenantID, combined)
}

// ruleText returns the rule of ruleOf as JSON. The result is empty if there is no segment, or the segments can't be
// evaluated.
func ruleText(q db.Querier, tenantID string, n *core.Narrowing) (string, error) {
	rule, err := ruleOf(q, tenantID, n)
	switch {
	case core.KindOf(err) == core.Conflict: // the approval rejects it
		return "", nil
	case err != nil || rule == nil:
		return "", err
	}
	return rule.JSON(), nil
}

// storedRule returns the rule of a job or an approved campaign. It returns nil if n names no segment.
func storedRule(n *core.Narrowing) (*core.Rule, error) {
	if n.Rule == "" {
		if n.Segmented() {
			return nil, core.Undecided("rule", "its rule was not stored")
		}
		return nil, nil
	}
	return core.ParseInlined(n.Rule)
}

// judgeSegments returns an Invalid error if a segment of the narrowing does not belong to the tenant.
func judgeSegments(q db.Querier, tenantID string, n *core.Narrowing) error {
	for i, id := range namedSegments(n) {
		field := "exclude_segment_ids"
		if i == 0 && n.SegmentID != "" {
			field = "segment_id"
		}
		switch _, err := segmentRule(q, tenantID, id); {
		case errors.Is(err, core.ErrNotFound):
			return core.Invalidf(field, "%s: segment %s not found. Choose another one.", field, id)
		case err != nil:
			return err
		}
	}
	return nil
}

// SegmentsWith returns the segments whose rules name a tag, ordered by name.
func SegmentsWith(tx db.Querier, t *core.Tag) (using []core.Segment, err error) {
	var all []core.Segment
	if err := tx.All(&all, SegmentsOfTenant, t.TenantID, "", core.MaxSegments); err != nil {
		return nil, err
	}
	for i := range all {
		rule, err := all[i].ParsedRule()
		if err != nil {
			return nil, err
		}
		named := false
		rule.Leaves("", func(_ string, leaf *core.Rule) { named = named || t.Named(leaf.Tag) })
		if named {
			using = append(using, all[i])
		}
	}
	slices.SortFunc(using, func(a, b core.Segment) int { return strings.Compare(a.Name, b.Name) })
	return using, nil
}
