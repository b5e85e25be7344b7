package subscribercsv

import (
	"net/url"
	"strings"
)

// unseen lists invisible characters: the special spaces of Excel and web pages, byte order marks and direction marks.
const unseen = "\u00a0\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202c\u202d\u202f\u2060\u2066\u2069\ufeff"

// cleanCell removes the spaces around a cell, including invisible ones.
func cleanCell(s string) string {
	return strings.Trim(s, " \t\r\n"+unseen)
}

// severalValues separates the values of a cell in exports from Google Contacts.
const severalValues = " ::: "

// address returns a record's address as written. If a contact has several addresses, it returns the first.
func (c *Reader) address(record []string) string {
	address := cleanAddress(record[c.email])
	for _, i := range c.further {
		if address != "" {
			break
		}
		address = cleanAddress(record[i])
	}
	return address
}

// cleanAddress returns the address in a cell, without what programs add to it: a name as in "Name <address>", mailto:
// with a query, quotes, a separator at the end, or invisible characters.
func cleanAddress(cell string) string {
	s := plainCell(cell)
	if strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) >= 0 {
		s = withoutUnseen(s)
	}
	s = strings.TrimSpace(s)
	for part := range strings.SplitSeq(s, strings.TrimSpace(severalValues)) {
		if s = strings.TrimSpace(part); s != "" {
			break
		}
	}
	s = strings.TrimRight(s, ";, \t")
	if strings.HasSuffix(s, ">") {
		if i := strings.LastIndexByte(s, '<'); i >= 0 {
			s = strings.TrimSpace(s[i+1 : len(s)-1])
		}
	}
	if len(s) > 7 && strings.EqualFold(s[:7], "mailto:") {
		s, _, _ = strings.Cut(s[7:], "?")
		if plain, err := url.PathUnescape(s); err == nil {
			s = plain
		}
	}
	for _, q := range [...]string{`"`, "'"} {
		if len(s) > 2 && strings.HasPrefix(s, q) && strings.HasSuffix(s, q) {
			s = s[1 : len(s)-1]
		}
	}
	return strings.TrimSpace(s)
}

// isBlank reports whether a record is empty. Spreadsheets write such records below a table.
func isBlank(record []string) bool {
	for _, cell := range record {
		if cleanCell(cell) != "" {
			return false
		}
	}
	return true
}
