package web

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"newsletterd/core"
)

const maxQuery = 200 // characters

// CheckQuery returns an error if a search query has more than 200 characters.
func CheckQuery(q string) error {
	if utf8.RuneCountInString(q) > maxQuery {
		return core.Invalidf("q", "q must have at most %d characters.", maxQuery)
	}
	return nil
}

// CheckText returns an error if a field's value is longer than core.MaxOrigin bytes or contains control characters.
func CheckText(field, text string) error {
	if len(text) > core.MaxOrigin {
		return core.Invalidf(field, "%s must have at most %d bytes.", field, core.MaxOrigin)
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return core.Invalidf(field, "%s contains control characters. Remove them.", field)
	}
	return nil
}

// Truncate returns at most the first n bytes of s.
func Truncate(s string, n int) string { return s[:min(len(s), n)] }
