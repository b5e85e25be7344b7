package db

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"newsletterd/core"
)

// NameSearch is a search for people by the beginning of their address, or of a word of their name.
type NameSearch struct {
	Key string // what a folded address begins with; empty: it isn't searched for
	// what a word of a name begins with, in small, leading capital and capital letters; those of ASCII are small in each,
	// as SQLite compares them. One that is the same as another is empty.
	names [3]string
	// start is what the text begins with, as far as that stands in JSON as it is: a row without it is not taken apart.
	start string
}

// nameOf is the name of subscription s, for a search, with a space before each word.
const nameOf = `' ' || lower(coalesce(s.preferences ->> 'first_name', '') || ' ' || coalesce(s.preferences ->> 'last_name', '')
	|| ' ' || coalesce(s.preferences ->> 'name', ''))`

// WholeName is the name of subscription s, to be shown; empty: it is not known.
const WholeName = `coalesce(nullif(trim(coalesce(s.preferences ->> 'first_name', '') || ' ' ||
	coalesce(s.preferences ->> 'last_name', '')), ''), s.preferences ->> 'name', '')`

// ByName compares subscription s, whose folded address is in the column key, with a nameSearch, whose values are the
// parameters from first on.
func ByName(key string, first int) string {
	text := fmt.Sprintf("(?%[2]d = '' OR substr(%[1]s, 1, length(?%[2]d)) = ?%[2]d", key, first)
	text += fmt.Sprintf(" OR instr(lower(s.preferences), ?%d) > 0 AND (0", first+4)
	for i := first + 1; i <= first+3; i++ {
		text += fmt.Sprintf(" OR ?%[1]d <> '' AND instr("+nameOf+", ' ' || ?%[1]d) > 0", i)
	}
	return text + "))"
}

// NewNameSearch returns the search for a text; with an @ it is part of an address alone.
func NewNameSearch(text string) (n NameSearch) {
	text = strings.Join(strings.Fields(text), " ")
	n.Key = core.Email(text).Key()
	if strings.Contains(text, "@") {
		return n
	}
	n.start = strings.ToLower(text)
	if end := strings.IndexFunc(n.start, notPlain); end >= 0 {
		n.start = n.start[:end]
	}
	words := strings.Fields(strings.ToLower(text))
	for i, w := range words {
		first, size := utf8.DecodeRuneInString(w)
		words[i] = string(unicode.ToTitle(first)) + w[size:]
	}
	n.names = [3]string{
		lowerASCII(strings.ToLower(text)), lowerASCII(strings.Join(words, " ")), lowerASCII(strings.ToUpper(text)),
	}
	if n.names[1] == n.names[0] {
		n.names[1] = ""
	}
	if n.names[2] == n.names[0] || n.names[2] == n.names[1] {
		n.names[2] = ""
	}
	return n
}

// notPlain reports whether a letter may be written otherwise in JSON, or capital without lower() of SQLite knowing.
func notPlain(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }

// lowerASCII is lower() of SQLite.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// Args are the values of byName.
func (n *NameSearch) Args() []any { return []any{n.Key, n.names[0], n.names[1], n.names[2], n.start} }

// Matches reports whether a subscription is one that is searched for.
func (n *NameSearch) Matches(sub *core.Subscription) bool {
	if n.Key == "" || strings.HasPrefix(sub.Email.Key(), n.Key) {
		return true
	}
	values := sub.Preferences.Values()
	name := ""
	for _, member := range []string{"first_name", "last_name", "name"} {
		name += " " + MemberText(values[member])
	}
	return n.names[0] != "" && strings.Contains(strings.ToLower(name), " "+n.names[0])
}

// MemberText returns a text as it is, and another value as JSON.
func MemberText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return string(value)
	}
	return text
}
