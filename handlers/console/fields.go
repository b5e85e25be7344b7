package console

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"newsletterd/core"
)

// fieldChoice is a subscriber field as the editor script expects it.
type fieldChoice struct {
	Name     string `json:"name"`
	Label    string `json:"label"`
	Fallback string `json:"fallback,omitempty"`
}

// printable matches names that are allowed in a placeholder.
var printable = regexp.MustCompile(`^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$`)

// fieldChoices is a list of fields that prints as JSON for the editor script.
type fieldChoices []fieldChoice

func (all fieldChoices) String() string {
	b, err := json.Marshal(all)
	if err != nil {
		return "[]"
	}
	return string(b)
}

// Placeholder returns the field's placeholder for use in a subject, with its fallback.
func (o fieldChoice) Placeholder(p *Page) string {
	switch {
	case o.Name == "email":
		return "{{ email }}"
	case strings.ContainsAny(o.Fallback, `"{`): // not allowed within quotes
		o.Fallback = ""
	case o.Fallback == "" && placeOf(o) == 0: // the field is a first name
		o.Fallback = p.T("friend")
	}
	return "{{ " + o.Name + ` | default: "` + o.Fallback + `" }}`
}

// fieldChoices returns the fields that an email can contain: the chosen lists' fields, fields that subscribers have,
// and name and address. A field that the email already contains comes with its fallback.
func (p *Page) fieldChoices(known []core.FieldCoverage, lists []listChoice) fieldChoices {
	all := fieldChoices{}
	add := func(name, label, fallback string) {
		if label == "" {
			label = p.knownLabel(name)
		}
		has := func(o fieldChoice) bool { return o.Name == "preferences."+name }
		if printable.MatchString(name) && !slices.ContainsFunc(all, has) {
			all = append(all, fieldChoice{"preferences." + name, label, fallback})
		}
	}
	for _, f := range known {
		add(f.Name, f.Label, f.Default)
	}
	for i := range lists {
		for _, f := range lists[i].Fields {
			if lists[i].On {
				add(f.Name, f.Label, "")
			}
		}
	}
	add("first_name", "", "")
	slices.SortStableFunc(all, func(a, b fieldChoice) int { return placeOf(a) - placeOf(b) })
	return append(all, fieldChoice{"email", p.T("Email address"), ""})
}

// pollChoices returns a campaign's polls as fields for insertion into its text.
func (p *Page) pollChoices(c *campaignPage) (all fieldChoices) {
	for i := range c.Polls {
		label := p.T("Poll: {{question}}", "question", c.Polls[i].Question)
		all = append(all, fieldChoice{Name: fmt.Sprintf("poll.%d", i+1), Label: label})
	}
	return all
}

// SubjectMenu returns the menu below a campaign's subject, which inserts an emoji, or a field with its fallback.
func (p *Page) SubjectMenu(fields fieldChoices) insertMenu {
	m := insertMenu{Label: p.T("Insert name or emoji"), Into: "f-subject", Emoji: true}
	for _, f := range fields {
		if !f.Poll() {
			m.Fields = append(m.Fields, option{f.Placeholder(p), f.Label})
		}
	}
	return m
}

// Poll reports whether the choice is a poll, which a subject can't contain.
func (o fieldChoice) Poll() bool { return strings.HasPrefix(o.Name, "poll.") }

var nameFields = []string{"first_name", "last_name", "name"}

// placeOf returns the sort position of a field. Names come first, because emails often start with them.
func placeOf(f fieldChoice) int {
	if i := slices.Index(nameFields, core.KnownField(strings.TrimPrefix(f.Name, "preferences."))); i >= 0 {
		return i
	}
	return len(nameFields)
}

// sayField returns the text and the detail for a finding about a subscriber field, with the label that the page uses.
// ok is false for other findings. If some subscribers lack the field, another finding already mentions the missing
// fallback. In that case, text and detail are empty for the finding about the fallback.
func (p *Page) sayField(of *campaignPage, f *core.CampaignFinding, fields []core.FieldCoverage) (
	text, detail string, ok bool,
) {
	kind := of.Content.Kind
	if f.Code == "placeholder_foreign" {
		if f.Write != "" {
			return p.FindingText(*f), p.T("Replace {{tag}} with {{example}}", "tag", f.Name, "example", f.Write), true
		}
		return p.FindingText(*f), p.T("Remove {{tag}}", "tag", f.Name), true
	}
	if f.Code == "does_not_compile" && f.Name != "" {
		text = p.T("Unknown field: {{field}}", "field", "{{ "+f.Name+" }}")
		if f.Write != "" {
			return text, p.T("Write {{example}}", "example", f.Write), true
		}
		if kind == core.ContentHTML && f.Where.Field != "subject" {
			return text, p.T("Write the first name as {{example}}.", "example", "{{ preferences.first_name }}"), true
		}
		return text, p.T("Insert fields with the menu below the subject or the toolbar above the text."), true
	}
	switch f.Code {
	case "field_missing":
		for i := range fields {
			if c := &fields[i]; c.Used && c.Known < c.Readers && f.Name == "preferences."+c.Name {
				return p.lacking(c, of.Segmented()), "", true
			}
		}
	case "placeholder_without_default", "subject_placeholder_without_default":
		for i := range fields {
			c := &fields[i]
			switch {
			case "preferences."+c.Name != f.Name:
			case f.Severity == core.SeverityError && kind != core.ContentHTML:
				return p.FindingText(*f), p.T("“{{field}}”: click the field and add a fallback", "field", p.labelOf(c)),
					true
			case f.Severity == core.SeverityError:
				return p.FindingText(*f), p.T("“{{field}}”: add a fallback, for example {{example}}",
					"field", p.labelOf(c), "example", "{{ "+f.Name+` | default: "…" }}`), true
			case c.Used && c.Known < c.Readers:
				return "", "", true
			default:
				return p.FindingText(*f), p.labelOf(c), true
			}
		}
	}
	return "", "", false
}

// labelOf returns the label of a subscriber field.
func (p *Page) labelOf(c *core.FieldCoverage) string {
	if c.Label != "" {
		return c.Label
	}
	return p.knownLabel(c.Name)
}

// lacking describes what recipients see if they have no value for a field. The text for a campaign to segments has no
// numbers, because fields are counted for whole lists.
func (p *Page) lacking(f *core.FieldCoverage, segmented bool) string {
	switch {
	case segmented && f.Default == "":
		return p.T("“{{field}}” has no fallback. If the field is blank, recipients see a gap.", "field", p.labelOf(f))
	case segmented:
		return p.T("Recipients without “{{field}}” see “{{word}}” instead (fallback).", "field", p.labelOf(f), "word",
			f.Default)
	}
	pairs := []any{
		"none", p.Number(f.Readers - f.Known), "all", p.Number(f.Readers), "field", p.labelOf(f), "word", f.Default,
	}
	if f.Default == "" {
		return p.T("“{{field}}” is blank for {{none}} of {{all}} recipients and has no fallback, so they see a "+
			"gap.", pairs[:6]...)
	}
	return p.T("“{{field}}” is blank for {{none}} of {{all}} recipients. They see “{{word}}” instead "+
		"(fallback).", pairs...)
}
