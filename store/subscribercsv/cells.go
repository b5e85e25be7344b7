package subscribercsv

import "strings"

// unseen are characters that no one sees: spaces of Excel and web pages, marks of byte order and of direction.
const unseen = "\u00a0\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202c\u202d\u202f\u2060\u2066\u2069\ufeff"

// cleanCell removes spaces around a cell, also those that no one sees.
func cleanCell(s string) string {
	return strings.Trim(s, " \t\r\n"+unseen)
}
