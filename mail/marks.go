package mail

import (
	"slices"
	"strings"
)

// providerMark is the header that identifies a message in a provider's events, because Amazon SES and others assign
// their own Message-ID. The header contains newsletterd's Message-ID token between before and after.
type providerMark struct {
	kind          string
	hosts         []string // suffixes of its relays' host names
	before, after string
}

// providerMarks lists the providers that support such a header. Package report reads it from their events.
var providerMarks = []providerMark{
	{"ses", []string{".amazonaws.com", ".amazonaws.com.cn"}, "X-SES-MESSAGE-TAGS: nd=", "\r\n"},
	{"postmark", []string{".postmarkapp.com"}, "X-PM-Metadata-nd: ", "\r\nX-PM-KeepID: true\r\n"},
	{"sendgrid", []string{".sendgrid.net"}, `X-SMTPAPI: {"unique_args":{"nd":"`, "\"}}\r\n"},
	{"mailgun", []string{".mailgun.org"}, `X-Mailgun-Variables: {"nd":"`, "\"}\r\n"},
	{"mailjet", []string{".mailjet.com"}, "X-MJ-CustomID: ", "\r\n"},
}

// ProviderOfHost returns the kind of email provider that a relay host belongs to, or an empty string if it is unknown.
func ProviderOfHost(host string) string {
	host = "." + strings.ToLower(strings.TrimSuffix(host, "."))
	for _, m := range providerMarks {
		if slices.ContainsFunc(m.hosts, func(end string) bool { return strings.HasSuffix(host, end) }) {
			return m.kind
		}
	}
	return ""
}

// MarkedProviders returns all kinds of email providers that have a mark, which ProviderOfHost can return.
func MarkedProviders() (kinds []string) {
	for _, m := range providerMarks {
		kinds = append(kinds, m.kind)
	}
	return kinds
}

// marksOf returns the marks of the given kinds of providers, without duplicates.
func marksOf(kinds []string) (marks []providerMark) {
	for _, m := range providerMarks {
		if slices.Contains(kinds, m.kind) {
			marks = append(marks, m)
		}
	}
	return marks
}
