package mail

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"newsletterd/core"
)

// ForeignTag is a merge tag of another newsletter service. Subscribers would see it literally.
type ForeignTag struct {
	Text  string // literal text
	At    int    // byte offset in the text
	Write string // placeholder to write instead; empty: none
}

// These limits bound the work for hostile input.
const (
	maxForeign      = 50        // different tags reported per text
	maxForeignSeen  = 1000      // occurrences of one form that are checked
	maxForeignBytes = 256 << 10 // bytes to search; Gmail clips an email long before
)

// foreignForms lists the forms of other services' merge tags. In each, the first group matches the name and the second
// the default. A weak form also occurs in ordinary text, so it counts only if weakName accepts the name.
var foreignForms = []struct {
	form *regexp.Regexp
	weak bool
}{
	{form: regexp.MustCompile(`\*\|([^|*\n]{1,80})\|\*`)},                                                             // Mailchimp
	{form: regexp.MustCompile(`%%(=[^%\n]{1,80}=|[A-Za-z_][\w.]{0,60})%%`)},                                           // Salesforce
	{form: regexp.MustCompile(`%recipient[._]([A-Za-z_][\w.]{0,60})%`)},                                               // Mailgun
	{form: regexp.MustCompile(`\[([^\[\],\n|]{1,60}),\s*fallback=([^\]\n]{0,80})\]`)},                                 // Campaign Monitor, Sendy
	{form: regexp.MustCompile(`\[((?:subscriber|link|newsletter):[^\]\n|]{1,80}?)\s*(?:\|\s*default:([^\]\n]*))?\]`)}, // MailPoet
	{form: regexp.MustCompile(`\[\[((?:data|var):[^\[\]\n:]{1,60})(?::"([^"\n]*)")?\]\]`)},                            // Mailjet
	{form: regexp.MustCompile(`\[\[([A-Za-z_][\w. -]{1,60}?)(?:\s+OR\s+"([^"\n]*)")?\]\]`), weak: true},               // GetResponse, Constant Contact, Omnisend
	{form: regexp.MustCompile(`\{\$([A-Za-z_][\w.]{0,60})\}`)},                                                        // MailerLite
	{form: regexp.MustCompile(`\{!([A-Za-z_]\w{0,60})\}`)},                                                            // AWeber
	{form: regexp.MustCompile(`\$\[([^\[\]\n|]{1,60})(?:\|([^\]\n|]*))?\|?\]\$`)},                                     // Zoho
	{form: regexp.MustCompile(`\{contactfield=([A-Za-z_]\w{0,60})(?:\|([^}\n]*))?\}`)},                                // Mautic
	{form: regexp.MustCompile(`<%[=-]?\s*([A-Za-z_@][\w.]{0,60})\s*-?%>`)},                                            // SendGrid
	{form: regexp.MustCompile(`(?i)<(unsubscribe|webversion|preferences)>`)},                                          // Campaign Monitor
	{form: regexp.MustCompile(`\{([\pL_][\pL\d_. -]{1,60})(?:,\s*"([^"\n]*)")?\}`), weak: true},                       // Ghost, CleverReach
	{form: regexp.MustCompile(`%([A-Za-z][A-Za-z_]{2,60})%`), weak: true},                                             // ActiveCampaign
	{form: regexp.MustCompile(`\[([\pL_][\pL\d_ -]{1,60})\]`), weak: true},                                            // phpList, iContact
	{form: regexp.MustCompile(`«([\pL_][\pL\d_ -]{1,60})»`), weak: true},                                              // Word
}

// ownTags matches newsletterd's own placeholders, in which foreign tags are not searched for.
var ownTags = regexp.MustCompile(`(?s)\{%-?\s*raw\s*-?%\}.*?\{%-?\s*endraw\s*-?%\}|` +
	`\{%-?\s*comment\s*-?%\}.*?\{%-?\s*endcomment\s*-?%\}|\{\{.*?\}\}|\{%.*?%\}`)

// ForeignTags returns the merge tags of other services in text, in order and without duplicates. own maps a foreign
// field name to the list's own, or to an empty string.
func ForeignTags(text string, own func(name string) string) (all []ForeignTag) {
	text = text[:min(len(text), maxForeignBytes)]
	rest := ownTags.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("\n", len(s)) })
	taken, small := []byte(rest), strings.ToLower(rest)
	for _, f := range foreignForms {
		for _, at := range f.form.FindAllSubmatchIndex(taken, maxForeignSeen) {
			tag := ForeignTag{Text: text[at[0]:at[1]], At: at[0]}
			name, word := text[at[2]:at[3]], ""
			if len(at) > 4 && at[4] >= 0 {
				word = strings.TrimSpace(text[at[4]:at[5]])
			}
			if f.weak && (!weakName(name) || !standsAlone(rest, at[0], at[1]) ||
				strings.Contains(small, strings.ToLower(text[at[0]:at[1]])+":")) { // a Markdown reference
				continue
			}
			tag.Write = foreignMeaning(name, word, own)
			for i := at[0]; i < at[1]; i++ { // mask it, so that no other form matches part of it
				taken[i] = '\n'
			}
			if len(all) < maxForeign && !slices.ContainsFunc(all, func(t ForeignTag) bool { return t.Text == tag.Text }) {
				all = append(all, tag)
			}
		}
	}
	slices.SortFunc(all, func(a, b ForeignTag) int { return a.At - b.At })
	return all
}

// standsAlone reports whether text[from:to] is not part of something else, such as a Markdown link or footnote, a
// selector, or a literal in program code.
func standsAlone(text string, from, to int) bool {
	before, after := byte(' '), byte(' ')
	if from > 0 {
		before = text[from-1]
	}
	if to < len(text) {
		after = text[to]
	}
	if text[from] != '[' {
		return before != '$' && before != text[from] && after != text[to-1]
	}
	return !strings.ContainsRune("]!*.#\\", rune(before)) && !isWordByte(before) &&
		!strings.ContainsRune("([{]", rune(after))
}

func isWordByte(b byte) bool {
	return b == '_' || b == '-' || '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z' || b >= 0x80
}

// weakName reports whether name is typical of a merge tag, and therefore probably not ordinary text in brackets.
func weakName(name string) bool {
	if foreignLink(plainName(name)) != "" {
		return true
	}
	switch core.KnownField(lastName(name)) {
	case "first_name", "last_name", "name", "salutation":
		return true
	}
	return foreignValues[plainName(lastName(name))] == "email"
}

// foreignValues maps names of foreign merge tags, in the form of plainName, to placeholders other than subscriber
// fields.
var foreignValues = map[string]string{
	"email": "email", "emailaddress": "email", "emailaddr": "email", "emailadresse": "email", "email1": "email",
	"subject": "job.subject", "mcsubject": "job.subject", "emailname": "job.name",
	"listname": "list.name", "listcompany": "tenant.name", "companyname": "tenant.name",
	"listaddress": "tenant.postal_address", "htmllistaddresshtml": "tenant.postal_address",
	"physicaladdress": "tenant.postal_address", "senderaddress": "tenant.postal_address",
	"companyaddress": "tenant.postal_address", "accountaddress": "tenant.postal_address",
	"currentyear": `"now" | date: "%Y"`,
}

// foreignLink returns the placeholder for a link, given its foreign name in the form of plainName. If there is none, it
// returns an empty string.
func foreignLink(plain string) string {
	for _, l := range []struct {
		link  string
		parts string
	}{
		{"preferences_url", "updateprofile managesub subscriptionmanage profilecenter preferencecent prefcenter manageprefer updatepreferences"},
		{"unsubscribe_url", "unsub optout abmelde désinscri desinscri desabonn désabonn"},
		{"view_url", "webversion inbrowser browserlink onlineversion webview viewonline viewemail mirrorlink mirrorurl archiveurl archivelink"},
	} {
		for part := range strings.FieldsSeq(l.parts) {
			if strings.Contains(plain, part) {
				return l.link
			}
		}
	}
	return map[string]string{"archive": "view_url", "mirror": "view_url", "preferences": "preferences_url"}[plain]
}

// plainName returns the letters and digits of a name, in lower case.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// lastName returns the part after the last dot or colon of a name: contact.FIRSTNAME, data:firstname.
func lastName(name string) string {
	return strings.TrimSpace(name[strings.LastIndexAny(name, ".:")+1:])
}

// foreignMeaning returns the placeholder that replaces a foreign merge tag with the default word, or an empty string if
// there is none.
func foreignMeaning(name, word string, own func(string) string) string {
	name = strings.TrimSpace(name)
	before, condition, isCondition := strings.Cut(name, ":")
	switch {
	case isCondition && before == "IF":
		return "{% if " + foreignPath(condition, own) + " %}"
	case isCondition && before == "IFNOT":
		return "{% unless " + foreignPath(condition, own) + " %}"
	case isCondition && before == "ELSE":
		return "{% else %}"
	case name == "END:IF":
		return "{% endif %}"
	}
	if link := foreignLink(plainName(name)); link != "" {
		return "{{ " + link + " }}"
	}
	path := foreignPath(name, own)
	isField := strings.HasPrefix(path, "preferences")
	switch {
	case path == "", isField && slices.Contains([]string{"MC", "link", "newsletter"}, before) && isCondition:
		return ""
	case !isField:
		return "{{ " + path + " }}"
	case word == "":
		word = "…"
	}
	return "{{ " + path + ` | default: "` + strings.ReplaceAll(word, `"`, "'") + `" }}`
}

// foreignPath returns the path that corresponds to a foreign name, or an empty string if there is none.
func foreignPath(name string, own func(string) string) string {
	for _, n := range []string{name, lastName(name)} {
		if v := foreignValues[plainName(n)]; v != "" {
			return v
		}
	}
	name = lastName(name)
	field := core.KnownField(name)
	if field == "" {
		field = strings.Trim(strings.Map(func(r rune) rune {
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				return '_'
			}
			return unicode.ToLower(r)
		}, name), "_")
	}
	if own != nil {
		if n := own(name); n != "" {
			field = n
		}
	}
	switch {
	case field == "":
		return ""
	case !core.IsFieldName(field) || unicode.IsDigit(rune(field[0])):
		return `preferences["` + strings.ReplaceAll(field, `"`, "") + `"]`
	}
	return "preferences." + field
}

// foreignExpression matches expressions of other template languages that also use double braces.
var foreignExpression = regexp.MustCompile(`^[{.\s]*([\pL_][\pL\d_.]*)(?:\s*\|\s*lookup:\s*["']([^"']+)["'])?` +
	`(?::([\pL_][\pL\d_]*))?(?:.*?\|?\s*default\s*:\s*["']([^"']*)["'])?`)

// foreignInBraces returns the placeholder that replaces an expression of another template language, such as
// contact.FIRSTNAME, person.first_name, .Subscriber.Name or first_name. If the expression is unknown, the result is
// empty.
func foreignInBraces(body string) string {
	m := foreignExpression.FindStringSubmatch(body)
	if m == nil {
		return ""
	}
	name := m[1]
	if m[2] != "" {
		name += "." + m[2]
	}
	if m[3] != "" {
		name += "." + m[3]
	}
	root, _, has := strings.Cut(name, ".")
	switch known := core.KnownField(lastName(name)) != "" || foreignValues[plainName(lastName(name))] != "" ||
		foreignLink(plainName(name)) != ""; {
	case known:
	case !has:
		return ""
	case !slices.Contains([]string{
		"contact", "person", "subscriber", "recipient", "user", "data", "customer", "member", "profile", "var", "lead",
	}, strings.ToLower(root)):
		return ""
	}
	return foreignMeaning(name, m[4], nil)
}
