package web

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"newsletterd/core"
)

const maxQuery = 200 // characters

// CheckQuery refuses a text to search for that no name can hold.
func CheckQuery(q string) error {
	if utf8.RuneCountInString(q) > maxQuery {
		return core.Invalidf("q", "q must have at most %d characters.", maxQuery)
	}
	return nil
}

// CheckText refuses a text for the record that is too long for it.
func CheckText(field, text string) error {
	if len(text) > core.MaxOrigin {
		return core.Invalidf(field, "%s must have at most %d bytes.", field, core.MaxOrigin)
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return core.Invalidf(field, "%s must not contain control characters.", field)
	}
	return nil
}

// ExportPage is how many subscriptions an export reads at once.
const ExportPage = 500

// Truncate returns s cut to n bytes.
func Truncate(s string, n int) string { return s[:min(len(s), n)] }
