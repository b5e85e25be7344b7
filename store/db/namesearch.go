package db

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"newsletterd/core"
)

// NameSearch is a search for people by a prefix of their address or of a word of their name.
type NameSearch struct {
	Key string // prefix of the folded address; empty: addresses are not searched
	// prefix of a word of a name in lower case, title case and upper case. ASCII letters are lower case in each, as
	// SQLite compares them. Duplicates are empty.
	names [3]string
	// start is the beginning of the search string, up to the first character that JSON may escape. A row that doesn't
	// contain it needs no parsing.
	start string
}

// nameOf is the SQL expression for the name of subscription s in a search, with a space before each word.
const nameOf = `' ' || lower(coalesce(s.preferences ->> 'first_name', '') || ' ' || coalesce(s.preferences ->> 'last_name', '')
	|| ' ' || coalesce(s.preferences ->> 'name', ''))`

// WholeName is the SQL expression for the name of subscription s for display. It is empty if the name is unknown.
const WholeName = `coalesce(nullif(trim(coalesce(s.preferences ->> 'first_name', '') || ' ' ||
	coalesce(s.preferences ->> 'last_name', '')), ''), s.preferences ->> 'name', '')`

// ByName returns the SQL condition that compares subscription s with a NameSearch. The column key holds the folded
// address. The values of the search (see Args) are the parameters of the statement, starting with number first.
func ByName(key string, first int) string {
	text := fmt.Sprintf("(?%[2]d = '' OR substr(%[1]s, 1, length(?%[2]d)) = ?%[2]d", key, first)
	text += fmt.Sprintf(" OR instr(lower(s.preferences), ?%d) > 0 AND (0", first+4)
	for i := first + 1; i <= first+3; i++ {
		text += fmt.Sprintf(" OR ?%[1]d <> '' AND instr("+nameOf+", ' ' || ?%[1]d) > 0", i)
	}
	return text + "))"
}

// NewNameSearch returns a search for a string that a user entered. A string with an @ is searched for only in
// addresses.
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

// notPlain reports whether r may be escaped in JSON or may have an uppercase form that SQLite's lower() doesn't know.
func notPlain(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }

// lowerASCII returns s in lower case, in the same way as SQLite's lower().
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// Args returns the parameter values for ByName.
func (n *NameSearch) Args() []any { return []any{n.Key, n.names[0], n.names[1], n.names[2], n.start} }

// Matches reports whether the search finds a subscription.
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

// MemberText returns a JSON string as plain text and any other value as JSON.
func MemberText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return string(value)
	}
	return text
}
