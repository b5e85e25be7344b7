package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"newsletterd/core"
)

// tagChoicePrefix marks a recipient choice that names a tag instead of a segment.
const tagChoicePrefix = "tag:"

// tagChoices returns the tags to choose from as recipients, except those that have a segment.
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

// segmentOfTag returns the ID of the segment whose only condition is a tag, or an empty string.
func segmentOfTag(segments []core.Segment, t *core.Tag) string {
	for i := range segments {
		r, err := core.ParseRule("rule", []byte(segments[i].Rule))
		if err != nil {
			continue
		}
		for len(r.All)+len(r.Any) == 1 {
			r = &slices.Concat(r.All, r.Any)[0]
		}
		if r.Tag != "" && (r.Tag == t.ID || core.TagKey(r.Tag) == core.TagKey(t.Name)) {
			return segments[i].ID
		}
	}
	return ""
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

// savedTagChoice returns the ID of the segment that replaceTagChoice has chosen for a tag. If the segment can't be
// read, or no longer has only that condition, savedTagChoice returns "?".
func (p *Page) savedTagChoice(tagID string) string {
	t, segments, err := p.tagAndSegments(tagID)
	if err != nil || t == nil {
		return "?"
	}
	return cmp.Or(segmentOfTag(segments, t), "?")
}

// replaceTagChoice replaces a tag that the form chooses as recipients with the segment whose only condition is that
// tag. If there is none, it creates the segment.
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
		p.Form["segment"] = tagID // no such segment: saving says so
		return nil
	}
	if p.Form["segment"] = segmentOfTag(segments, t); p.Form["segment"] != "" {
		return nil
	}
	name := p.T("Tag: {{tag}}", "tag", t.Name)
	for slices.ContainsFunc(segments, func(s core.Segment) bool { return core.SameSegmentName(s.Name, name) }) {
		name += "*" // the segment with this name has other conditions now
	}
	var made core.Segment
	err = p.Do(http.MethodPost, "/api/segments", map[string]any{
		"tenant_id": p.Tenant.ID, "name": name,
		"rule": map[string]any{"all": []any{map[string]any{"tag": t.Name}}},
	}, &made)
	p.Form["segment"] = made.ID
	return err
}
