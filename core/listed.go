package core

import (
	"regexp"
	"strings"
)

// filledIn matches a placeholder as {{preferences.first_name | default: "friend"}}: its name, and what stands there
// without a value, within quotes of either kind.
var filledIn = regexp.MustCompile(`{{-?\s*([\w.]+)\s*(?:\|\s*default:\s*("[^"]*"|'[^']*')\s*)?-?}}`)

// ListedText returns a text with placeholders, such as a subject, as people read it in a list or an email about it: with
// the defaults of its placeholders in their places, or with what those are, in brackets. label names a field; nil takes
// its name. A name without a dot that isn't the address is no field of subscribers, and stands as it is written.
func ListedText(text string, label func(name string) string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	return filledIn.ReplaceAllStringFunc(text, func(s string) string {
		is := filledIn.FindStringSubmatch(s)
		if is[2] != "" {
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
