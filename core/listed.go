package core

import (
	"regexp"
	"strings"
)

// filledIn matches a placeholder such as {{preferences.first_name | default: "friend"}}. Its groups are the name and
// the quoted fallback, in either kind of quotes.
var filledIn = regexp.MustCompile(`{{-?\s*([\w.]+)\s*(?:\|\s*default:\s*("[^"]*"|'[^']*')\s*)?-?}}`)

// ListedText returns a text with placeholders, such as a subject, in readable form for a list or an email about it.
// Each placeholder is replaced by its fallback or, without one, by the label of its field in brackets. label returns
// the label of a field; if it is nil, the name is used. Except for email, a name without a dot is not a subscriber's
// field, so its placeholder stays unchanged.
func ListedText(text string, label func(name string) string) string { return listed(text, label, true) }

// NamedText is like ListedText, but shows the name of each field even if there is a fallback. Texts that differ in a
// field then also differ in readable form.
func NamedText(text string) string { return listed(text, nil, false) }

func listed(text string, label func(name string) string, fallbacks bool) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	return filledIn.ReplaceAllStringFunc(text, func(s string) string {
		is := filledIn.FindStringSubmatch(s)
		if fallbacks && is[2] != "" {
			return is[2][1 : len(is[2])-1]
		}
		if is[1] != "email" && !strings.Contains(is[1], ".") {
			return s
		}
		name := strings.TrimPrefix(is[1], "preferences.")
		if label != nil {
			return "[" + label(name) + "]"
		}
		return "[" + strings.ReplaceAll(name, "_", " ") + "]"
	})
}
