package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// readSegment reads the available segments without those created for a tag, and the chosen segment. If the chosen one
// was deleted, the page says so.
func (d *peopleData) readSegment(p *Page) error {
	if !p.May(core.ActionSegmentRead) {
		return nil
	}
	all, err := p.allSegments()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(s core.Segment) bool { // found by their tag
		return s.ID != d.Segment && p.namedForTag(&s) != ""
	})
	if len(all) == 0 && d.Segment == "" {
		return nil
	}
	d.Segments = segmentOptions(all, "", option{"", p.T("All segments")})
	if d.Segment != "" && !hasOption(d.Segments, d.Segment) {
		d.Segments = append(d.Segments, option{d.Segment, p.T("(deleted)")})
	}
	return nil
}

// readTags reads the available tags. If the chosen one was deleted, the page says so.
func (d *peopleData) readTags(p *Page) error {
	if !p.May(core.ActionSegmentRead) {
		return nil
	}
	tags, err := p.allTags()
	if err != nil || len(tags) == 0 && d.Tagged == "" {
		return err
	}
	d.Tags = []option{{"", p.T("All tags")}}
	for i := range tags {
		d.Tags = append(d.Tags, option{tags[i].ID, tags[i].Name})
	}
	if d.Tagged != "" && !hasOption(d.Tags, d.Tagged) {
		d.Tags = append(d.Tags, option{d.Tagged, p.T("(deleted)")})
	}
	return nil
}

// readAnswers reads the available answers: those to all polls in the chosen answer's campaign. If the chosen one is
// unknown, the page says so.
func (d *peopleData) readAnswers(p *Page) error {
	campaign, _, ok := strings.Cut(d.Answered, ".")
	if !ok || !p.May(core.ActionSegmentRead) {
		d.Answered = ""
		return nil
	}
	found, err := p.answers(campaign)
	d.Answers = []option{{"", p.T("All answers")}}
	for _, answer := range found {
		d.Answers = append(d.Answers, option{campaign + "." + answer.Value, answer.Text})
	}
	if !hasOption(d.Answers, d.Answered) {
		d.Answers = append(d.Answers, option{d.Answered, p.T("(deleted)")})
	}
	return err
}

// readRuled reads the people for the page with a rule: those in the chosen segment, with the chosen tag and the chosen
// answer. If the rule can't be evaluated, the page shows the reason and no people.
func (d *peopleData) readRuled(p *Page, size int) (next string, err error) {
	if d.Status != "" && d.Status != core.SubscriptionActive {
		d.Unknown = p.onlyActive()
		return "", nil
	}
	next, err = readAsked(p, web.Question{
		Method: http.MethodPost, Path: "/api/admin/subscribers/search", Body: d.search(p.Tenant.ID),
	}, url.Values{}, size, &d.People)
	if errors.Is(err, core.ErrSegmentNotFound) {
		d.Unknown = p.T("This segment was deleted. Choose another one.")
		return "", nil
	}
	if text, ok := p.countFault(err); ok {
		d.Unknown = text
		return "", nil
	}
	return next, err
}

// onlyActive returns the note that rules find subscribed people only.
func (p *Page) onlyActive() string {
	return p.T("Segments, tags and answers only find people with the status “{{status}}”.", "status",
		p.PersonBadge(core.SubscriptionActive).Text)
}

// Narrowed returns a note if the filter has no status but finds subscribed people only.
func (d *peopleData) Narrowed(p *Page) string {
	if d.Status != "" || !d.ruled() {
		return ""
	}
	return p.onlyActive()
}

// peopleFile returns the API request for exporting the people who match the page's filter.
func (p *Page) peopleFile() (web.Question, error) {
	lists, err := p.peopleLists()
	if err != nil {
		return web.Question{}, err
	}
	f := readFilter(p.Query, lists)
	if !f.ruled() {
		q := p.ofTenant("list_id", f.List, "status", f.Status, "search", f.Text, "field", f.Field, "value", f.Value,
			"columns", "fields", "spreadsheet", p.separator())
		return web.Question{Method: http.MethodGet, Path: "/api/admin/subscribers/export?" + q.Encode()}, nil
	}
	body := f.search(p.Tenant.ID)
	body["columns"], body["spreadsheet"] = "fields", p.separator()
	return web.Question{Method: http.MethodPost, Path: "/api/admin/subscribers/export", Body: body}, nil
}
