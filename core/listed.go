package core

import (
	"regexp"
	"strings"
)

// filledIn matches a template placeholder such as {{preferences.first_name | default: "friend"}}. Its groups are the
// name and the fallback in single or double quotes.
var filledIn = regexp.MustCompile(`{{-?\s*([\w.]+)\s*(?:\|\s*default:\s*("[^"]*"|'[^']*')\s*)?-?}}`)

// ListedText makes the placeholders in a text such as a subject readable, for lists and notices. It replaces each with
// its fallback or, without one, with its field's label in brackets. label returns a field's label; if label is nil, the
// name is used. A name without a dot, except email, is not a subscriber field, so its placeholder stays unchanged.
func ListedText(text string, label func(name string) string) string { return listed(text, label, true) }

// NamedText is like ListedText, but shows each field's name even if there is a fallback, so that texts with different
// fields stay different.
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
