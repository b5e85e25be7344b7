package console

import (
	"net/url"
	"strings"

	"newsletterd/core"
)

// peopleFilter is the filter of the People page. Its values are IDs.
type peopleFilter struct {
	List, Status, Text string
	Field, Value       string // field of the list, and its value
	Segment, Tagged    string
	Answered           string // poll answer: the campaign, a dot, and the value of answerOf

	boolean bool // whether the field is a checkbox
}

// filterNames lists the URL parameters of a peopleFilter, except for the search text.
var filterNames = [...]string{"list", "status", "field", "value", "segment", "tagged", "answered"}

// readFilter reads a filter. ask returns the value of a parameter. A field that the list doesn't have is ignored.
func readFilter(ask func(string) string, lists []core.CountedList) peopleFilter {
	f := peopleFilter{
		List: ask("list"), Status: ask("status"), Text: ask("q"), Segment: ask("segment"), Tagged: ask("tagged"),
		Answered: ask("answered"),
	}
	for i := range lists {
		if lists[i].ID != f.List {
			continue
		}
		for _, of := range lists[i].Fields {
			if of.Name == ask("field") {
				f.Field, f.Value, f.boolean = of.Name, ask("value"), of.Type == core.FieldBoolean
			}
		}
	}
	return f
}

// ruled reports whether the page finds people with a rule, as bulk actions do. A rule finds only subscribed people.
// Without a rule, fields must match exactly.
func (f *peopleFilter) ruled() bool {
	return f.Segment+f.Tagged+f.Answered != "" || f.Field != "" && f.Status == core.SubscriptionActive
}

// leaves returns the filter's conditions, all of which people must match.
func (f *peopleFilter) leaves() (all []any) {
	if f.Segment != "" {
		all = append(all, map[string]any{"segment": f.Segment})
	}
	if f.Tagged != "" {
		all = append(all, map[string]any{"tag": f.Tagged})
	}
	if campaign, answer, ok := strings.Cut(f.Answered, "."); ok {
		all = append(all, answerCondition(campaign, answer))
	}
	switch {
	case f.Field == "":
	case f.Value == "":
		all = append(all, map[string]any{"field": f.Field, "missing": true})
	case f.boolean && (f.Value == "true" || f.Value == "1"):
		all = append(all, map[string]any{"field": f.Field, "is": true})
	case f.boolean && (f.Value == "false" || f.Value == "0"):
		all = append(all, map[string]any{"field": f.Field, "is": false})
	default:
		all = append(all, map[string]any{"field": f.Field, "is": f.Value})
	}
	return all
}

// whom adds the filter to a request body, as a segment or a rule.
func (f *peopleFilter) whom(body map[string]any) map[string]any {
	leaves := f.leaves()
	switch {
	case f.Segment != "" && len(leaves) == 1:
		body["segment_id"] = f.Segment
	case len(leaves) == 0:
		body["rule"] = map[string]any{"on_list": f.List}
	case len(leaves) == 1:
		body["rule"] = leaves[0]
	default:
		body["rule"] = map[string]any{"all": leaves}
	}
	return body
}

// search returns the request body for searching or exporting by a rule.
func (f *peopleFilter) search(tenant string) map[string]any {
	body := map[string]any{"tenant_id": tenant}
	for name, value := range map[string]string{"list_id": f.List, "status": f.Status, "search": f.Text} {
		if value != "" {
			body[name] = value
		}
	}
	return f.whom(body)
}

// query returns the filter's URL query, without the search text.
func (f *peopleFilter) query() url.Values {
	q := url.Values{}
	for name, value := range f.values() {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

func (f *peopleFilter) values() map[string]string {
	return map[string]string{
		"list": f.List, "status": f.Status, "field": f.Field, "value": f.Value, "segment": f.Segment,
		"tagged": f.Tagged, "answered": f.Answered,
	}
}

// Filter returns the filter's parameters, except for the list, for a form.
func (f *peopleFilter) Filter() (all [][2]string) {
	values := f.values()
	for _, name := range filterNames[1:] {
		if values[name] != "" {
			all = append(all, [2]string{name, values[name]})
		}
	}
	return all
}

// NotAll returns the reason why an action can't change everyone who matches the filter, or an empty string.
func (f *peopleFilter) NotAll(p *Page) string {
	switch {
	case f.Status != "" && f.Status != core.SubscriptionActive:
		return p.T("To edit everyone who matches, filter by “{{status}}”. To edit other people, select them.",
			"status", p.PersonBadge(core.SubscriptionActive).Text)
	case f.Text != "":
		return p.T("To edit everyone, clear the search. You can select the people that it finds.")
	case f.Status == "" && !f.ruled():
		return p.T("To edit more people than on one page, filter by the status “{{status}}”, a segment or a tag.",
			"status", p.PersonBadge(core.SubscriptionActive).Text)
	}
	return ""
}
