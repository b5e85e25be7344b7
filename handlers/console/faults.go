package console

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// fieldNames are what pages call the fields of the API. A field of a record in a list is known by its last part.
var fieldNames = map[string]string{
	"agent_id":                 "Agent that runs it",
	"alt":                      "What it shows, in words",
	"brand_color":              "Colour",
	"brand_logo_url":           "Address of the logo",
	"brand_name":               "Name that readers see",
	"confirm_redirect_url":     "After confirming",
	"consent_text":             "What people agree to",
	"description":              "Description",
	"domain":                   "Domain that you write from",
	"email":                    "E-mail address",
	"font":                     "Text",
	"from_email":               "Address of the sender",
	"from_name":                "Name of the sender",
	"heading_font":             "Headings",
	"heading_weight":           "Weight of headings",
	"host":                     "Name of the server",
	"language":                 "Language",
	"list_id":                  "List",
	"list_ids":                 "Lists",
	"mail_from":                "Address of the sender",
	"mail_from_name":           "Name of the sender",
	"name":                     "Name",
	"note":                     "What they should look at",
	"postal_address":           "Postal address",
	"preheader":                "Preview text",
	"privacy_url":              "Your privacy policy",
	"public_url":               "Address of links in mails",
	"redirect_uris":            "Where people come back to after signing in",
	"reply_to":                 "Replies go to",
	"role":                     "Role",
	"scheduled_at":             "Time",
	"slug":                     "Word in its address",
	"subject":                  "Subject",
	"subscribe_redirect_url":   "After the form was sent",
	"tenant_id":                "Tenant",
	"test_addresses":           "Test group",
	"text":                     "Text",
	"theme":                    "Theme",
	"time_zone":                "Time zone",
	"title":                    "Headings",
	"unsubscribe_redirect_url": "After leaving",
	"url":                      "Address",
	"version":                  "Version",
	"visibility":               "Who sees it",
	"wanted_at":                "Wanted by",
	"window_end":               "Latest time",
}

// FieldName returns what the page calls a field of the API; empty: nothing of its own.
func (p *Page) FieldName(field string) string {
	return p.T(cmp.Or(fieldNames[field], fieldNames[field[strings.LastIndexByte(field, '.')+1:]]))
}

// form is a message of the API with values in it, as the code writes it for fmt: "%s may have %d characters at most."
type form struct {
	text    string
	match   *regexp.Regexp
	literal int // octets that are none of a value
}

var verb = regexp.MustCompile(`%[sdqv%]`)

// forms are the messages with values that another language has, those first that say most.
var forms = sync.OnceValue(func() map[string][]form {
	all := map[string][]form{}
	for lang, texts := range words() {
		for text := range texts {
			if !verb.MatchString(text) {
				continue
			}
			f := form{text: text, literal: len(verb.ReplaceAllString(text, ""))}
			pattern := verb.ReplaceAllStringFunc(regexp.QuoteMeta(text), func(v string) string {
				return map[string]string{"%s": "(.*)", "%d": `(-?\d+)`, "%q": `"(.*)"`, "%v": "(.*)", "%%": "%"}[v]
			})
			f.match = regexp.MustCompile("(?s)^" + pattern + "$")
			all[lang] = append(all[lang], f)
		}
		slices.SortFunc(all[lang], func(a, b form) int {
			return cmp.Or(b.literal-a.literal, cmp.Compare(a.text, b.text))
		})
	}
	return all
})

// faultText returns the message of an error in the words of the page. Messages with values are found by their form, so
// "name may have 200 characters at most." is said in the language of the page, of the name that the page has for it.
func (p *Page) faultText(e *core.Error) string {
	text := cmp.Or(e.Message, web.MessageOf(e.Kind))
	if other, ok := p.translated(text); ok {
		return other
	}
	if p.Lang != languages[0] {
		return p.T("This was not accepted: {{why}}", "why", text)
	}
	rest, ok := strings.CutPrefix(text, e.Field)
	switch label := p.FieldName(e.Field); {
	case !ok || label == "":
	case strings.HasPrefix(rest, ":"):
		return label + rest
	case strings.HasPrefix(rest, " "): // not "Replies go to is not a valid e-mail address."
		return label + ": this" + rest
	}
	return text
}

// translated returns a message in the language of the page; ok is false where that has none.
func (p *Page) translated(text string) (other string, ok bool) {
	if other = words()[p.Lang][text]; other != "" {
		return other, true
	}
	for _, f := range forms()[p.Lang] {
		values := f.match.FindStringSubmatch(text)
		if values == nil {
			continue
		}
		pairs := []any{}
		for i, v := range values[1:] {
			if n, err := strconv.ParseInt(v, 10, 64); err == nil {
				v = p.Number(n)
			} else if at, err := core.ParseInstant(v); err == nil {
				v = p.When(at)
			}
			pairs = append(pairs, i+1, cmp.Or(p.FieldName(v), p.T(v)))
		}
		return p.T(f.text, pairs...), true
	}
	return text, false
}
