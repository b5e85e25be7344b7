package core

import "strings"

// Placeholders returns a replacer that fills placeholders. pairs are alternating placeholders and values. If a value
// ends with a full stop, as in "e. V." or "Ltd.", the replacer drops the full stop after its placeholder.
func Placeholders(pairs ...string) *strings.Replacer {
	all := make([]string, 0, len(pairs)+2)
	for i := 0; i < len(pairs); i += 2 {
		if strings.HasSuffix(pairs[i+1], ".") {
			all = append(all, pairs[i]+".", pairs[i+1]) // before the placeholder alone, so it wins
		}
		all = append(all, pairs[i], pairs[i+1])
	}
	return strings.NewReplacer(all...)
}
