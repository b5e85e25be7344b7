package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"newsletterd/core"
)

// tagChoicePrefix marks a choice of recipients by tag instead of by segment.
const tagChoicePrefix = "tag:"

// tagChoices returns options for tags as recipients, except those that have a segment.
func (p *Page) tagChoices(segments []core.Segment) (choices []option, err error) {
	if !p.May(core.ActionSegmentWrite) {
		return nil, nil
	}
	tags, err := p.allTags()
	for i := range tags {
		if segmentOfTag(segments, &tags[i]) == "" {
			choices = append(choices, option{tagChoicePrefix + tags[i].ID, p.T("Tag: {{tag}}", "tag", tags[i].Name)})
		}
	}
	return choices, err
}

// segmentOfTag returns the ID of the segment whose only condition is the tag, or an empty string.
func segmentOfTag(segments []core.Segment, t *core.Tag) string {
	for i := range segments {
		tag := onlyTag(&segments[i])
		if tag != "" && (tag == t.ID || core.TagKey(tag) == core.TagKey(t.Name)) {
			return segments[i].ID
		}
	}
	return ""
}

// onlyTag returns the tag that is a segment's only condition, as in its rule. If it has other conditions, onlyTag
// returns an empty string.
func onlyTag(s *core.Segment) string {
	r, err := core.ParseRule("rule", []byte(s.Rule))
	if err != nil {
		return ""
	}
	for len(r.All)+len(r.Any) == 1 {
		r = &slices.Concat(r.All, r.Any)[0]
	}
	return r.Tag
}

// namedForTag returns the tag that a segment was created for by replaceTagChoice. If a person named the segment,
// namedForTag returns an empty string.
func (p *Page) namedForTag(s *core.Segment) string {
	tag := onlyTag(s)
	if tag == "" || !strings.HasPrefix(s.Name, p.T("Tag: {{tag}}", "tag", "")) &&
		!strings.HasSuffix(strings.TrimRight(s.Name, "*"), ": "+tag) { // named in another language
		return ""
	}
	return tag
}

// SegmentTerm returns the label and the name of a segment: for one that was created for a tag, those of the tag.
func (p *Page) SegmentTerm(s core.Segment) [2]string {
	if tag := p.namedForTag(&s); tag != "" {
		return [2]string{p.T("Tag"), tag}
	}
	return [2]string{p.T("Segment"), s.Name}
}

// tagAndSegments returns the tag with an ID, or nil if there is none, and all segments.
func (p *Page) tagAndSegments(id string) (*core.Tag, []core.Segment, error) {
	tags, err := p.allTags()
	i := slices.IndexFunc(tags, func(t core.Tag) bool { return t.ID == id })
	if err != nil || i < 0 {
		return nil, nil, err
	}
	segments, err := p.allSegments()
	return &tags[i], segments, err
}

// savedTagChoice returns the ID of the segment that replaceTagChoice used for a tag. If the segment can't be read or
// its conditions were changed, it returns "?".
func (p *Page) savedTagChoice(tagID string) string {
	t, segments, err := p.tagAndSegments(tagID)
	if err != nil || t == nil {
		return "?"
	}
	return cmp.Or(segmentOfTag(segments, t), "?")
}

// replaceTagChoice replaces the tag that the form selects as recipients with a segment whose only condition is that
// tag. If there is none, it creates one.
func (p *Page) replaceTagChoice() error {
	tagID, ok := strings.CutPrefix(p.Form["segment"], tagChoicePrefix)
	if !ok {
		return nil
	}
	t, segments, err := p.tagAndSegments(tagID)
	if err != nil {
		return err
	}
	if t == nil {
		p.Form["segment"] = tagID // no such segment: saving reports that
		return nil
	}
	if p.Form["segment"] = segmentOfTag(segments, t); p.Form["segment"] != "" {
		return nil
	}
	name := p.T("Tag: {{tag}}", "tag", t.Name)
	for slices.ContainsFunc(segments, func(s core.Segment) bool { return core.SameSegmentName(s.Name, name) }) {
		name += "*" // a segment with this name exists but has other conditions
	}
	var made core.Segment
	err = p.Do(http.MethodPost, "/api/segments", map[string]any{
		"tenant_id": p.Tenant.ID, "name": name,
		"rule": map[string]any{"all": []any{map[string]any{"tag": t.Name}}},
	}, &made)
	p.Form["segment"] = made.ID
	return err
}
