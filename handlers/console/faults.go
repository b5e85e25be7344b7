package console

import (
	"cmp"
	"fmt"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// fieldNames maps API fields to their labels on pages. For a field of a list element, the key is the last part of its
// name.
var fieldNames = map[string]string{
	"agent_id":                 "Managed by (agent)",
	"alt":                      "Alt text",
	"attachments":              "Attachments",
	"brand_color":              "Color",
	"brand_dark_logo_url":      "Logo for dark backgrounds",
	"brand_logo_url":           "Logo URL",
	"brand_name":               "Public name",
	"confirm_redirect_url":     "After confirming",
	"consent_text":             "Consent text",
	"content.source":           "Text",
	"content.text":             "Plain-text version",
	"description":              "Description",
	"domain":                   "Sender domain",
	"domains":                  "Sender domains",
	"email":                    "Email address",
	"fields":                   "Fields",
	"font":                     "Text",
	"from_email":               "Sender address",
	"from_name":                "Sender name",
	"heading_font":             "Headings",
	"heading_weight":           "Heading weight",
	"host":                     "Host name",
	"language":                 "Language",
	"list_id":                  "List",
	"list_ids":                 "Lists",
	"mail_from":                "Sender address",
	"mail_from_name":           "Sender name",
	"name":                     "Name",
	"note":                     "Note for approvers (optional)",
	"port":                     "Port",
	"postal_address":           "Postal address",
	"preheader":                "Preview text",
	"privacy_url":              "Privacy policy URL",
	"public_url":               "Base URL for links",
	"q":                        "Search",
	"redirect_uris":            "Redirect URLs",
	"relays":                   "Mail servers",
	"reply_to":                 "Reply-to address",
	"role":                     "Role",
	"scheduled_at":             "Time",
	"search":                   "Search",
	"secret":                   "Secret",
	"selector":                 "Selector",
	"signup_tag_id":            "Tag new subscribers with",
	"slug":                     "Web address (slug)",
	"subject":                  "Subject",
	"subscribe_redirect_url":   "After signing up",
	"target":                   "New link",
	"tenant_id":                "Tenant",
	"test_addresses":           "Test group",
	"text":                     "Text",
	"theme":                    "Theme",
	"time_zone":                "Time zone",
	"to":                       "Test recipients",
	"title":                    "Headings",
	"unsubscribe_redirect_url": "After unsubscribing",
	"url":                      "URL",
	"version":                  "Version",
	"visibility":               "Visibility",
	"wanted_at":                "Needed by (optional)",
	"window_end":               "Stop sending at (optional)",
}

// FieldName returns the label for an API field, or an empty string if there is none.
func (p *Page) FieldName(field string) string {
	label := p.T(cmp.Or(fieldNames[field], fieldNames[field[strings.LastIndexByte(field, '.')+1:]]))
	return strings.TrimSuffix(label, " (optional)") // both languages use this suffix
}

// faultText returns an error's message in the page's language. A message with values is looked up by its format. In
// "name must have at most 200 characters.", for example, the name of the field is replaced with the page's label.
func (p *Page) faultText(e *core.Error) string {
	s := e.Sentence()
	s.Text = cmp.Or(s.Text, web.MessageOf(e.Kind))
	if other, ok := p.translated(s); ok {
		return other
	}
	if p.Lang != languages[0] {
		return p.T("That didn't work: {{why}}", "why", s.Text)
	}
	if s.Format != "" {
		values := make([]any, len(s.Args))
		for i, value := range s.Args {
			values[i] = asSaid(p.faultValue(value))
		}
		s.Text = fmt.Sprintf(s.Format, values...)
	}
	rest, ok := strings.CutPrefix(s.Text, e.Field)
	switch label := p.FieldName(e.Field); {
	case !ok || label == "":
	case strings.HasPrefix(rest, ":"):
		return label + rest
	case strings.HasPrefix(rest, " "): // not "Reply-to address is not a valid email address."
		return label + ": this" + rest
	}
	return s.Text
}

// translated returns a message in the page's language. If there is no translation, ok is false. A full message can have
// a translation of its own besides its format's, such as "This address can't receive emails. Its status is bounced."
func (p *Page) translated(s core.Sentence) (other string, ok bool) {
	for _, said := range []string{s.Text, s.Format} {
		plain := plainFaults[said]
		other = words()[p.Lang][cmp.Or(plain, said)]
		if p.Lang == languages[0] {
			other = plain
		}
		if other == "" {
			continue
		}
		pairs := make([]any, 0, 2*len(s.Args))
		verbs := verbsOf(s.Format)
		for i, verb := range verbs[:min(len(verbs), len(s.Args))] {
			text := fmt.Sprint(s.Args[i])
			if verb != 'q' { // quoted input stays unchanged
				text = cmp.Or(p.FieldName(text), p.faultValue(s.Args[i]))
			}
			pairs = append(pairs, i+1, text)
		}
		return fillIn(other, pairs...), true
	}
	return s.Text, false
}

// verbsOf returns a format's verbs, one for each value.
func verbsOf(format string) (verbs []byte) {
	for {
		_, rest, ok := strings.Cut(format, "%")
		if !ok || rest == "" {
			return verbs
		}
		if rest[0] != '%' {
			verbs = append(verbs, rest[0])
		}
		format = rest[1:]
	}
}

// faultValue formats a value within a message for the page: a number, a time, a word, or another message.
func (p *Page) faultValue(value any) string {
	switch v := value.(type) {
	case core.Sentence:
		text, _ := p.translated(v)
		return text
	case core.Instant:
		return p.When(v)
	case int:
		return p.Number(int64(v))
	case int64:
		return p.Number(v)
	case core.ByteSize:
		return p.byteSize(v)
	}
	return p.stateText(p.MappingFault(fmt.Sprint(value)))
}

// stateText translates an API word such as scheduled. An unknown word is returned unchanged.
func (p *Page) stateText(word string) string {
	if _, known := words()[p.Lang][word]; known || word == "" {
		return p.T(word)
	}
	if other, known := words()[p.Lang][strings.ToUpper(word[:1])+word[1:]]; known {
		return other
	}
	return word
}

// asSaid is a string that every fmt verb prints unchanged.
type asSaid string

func (s asSaid) Format(w fmt.State, verb rune) {
	if verb == 'q' {
		s = "“" + s + "”"
	}
	fmt.Fprint(w, string(s))
}
