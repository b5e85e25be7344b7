package subscribercsv

import (
	"cmp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// foldCell removes everything around the word in a cell (quotes, brackets of lists, symbols and HTML tags) and folds
// the word with foldWord. Full-width letters become plain ones, and 1.0 becomes 1. A cell that contains only symbols
// stays unchanged, unless the symbols mean nothing.
func foldCell(cell string) string {
	if isPlain(cell) {
		return foldWord(cell)
	}
	s := withoutTags(norm.NFKC.String(cell))
	word := strings.TrimFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\\'
	})
	switch word {
	case "0.0", "0,0":
		return "0"
	case "1.0", "1,0":
		return "1"
	case "":
		if strings.Trim(s, " \t\r\n\"'`[](){}<>-_.,;:\u2010\u2011\u2012\u2013\u2014\u2015\u2212"+unseen) != "" {
			return cmp.Or(foldWord(s), s)
		}
	}
	return foldWord(word)
}

// isPlain reports whether a cell contains only ASCII letters, digits and spaces.
func isPlain(cell string) bool {
	for i := range len(cell) {
		c := cell[i] | 0x20
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != ' ' {
			return false
		}
	}
	return true
}

// withoutTags removes everything that looks like an HTML tag.
func withoutTags(s string) string {
	if strings.IndexByte(s, '<') < 0 {
		return s
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "<")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		_, after, closed := strings.Cut(rest, ">")
		if !closed {
			b.WriteString("<" + rest)
			return b.String()
		}
		s = after
	}
}
