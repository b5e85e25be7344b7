package mail

import (
	"slices"
	"strings"
)

// providerMark is how a mail is named for a provider so that its events tell the name again: Amazon SES and others give a mail
// a Message-ID of their own. before and after stand around the token of the Message-ID.
type providerMark struct {
	kind          string
	hosts         []string // of its relays: names that they end in
	before, after string
}

// providerMarks are the providers that take such a name. What they know of it is in the parsers of their events.
var providerMarks = []providerMark{
	{"ses", []string{".amazonaws.com", ".amazonaws.com.cn"}, "X-SES-MESSAGE-TAGS: nd=", "\r\n"},
	{"postmark", []string{".postmarkapp.com"}, "X-PM-Metadata-nd: ", "\r\nX-PM-KeepID: true\r\n"},
	{"sendgrid", []string{".sendgrid.net"}, `X-SMTPAPI: {"unique_args":{"nd":"`, "\"}}\r\n"},
	{"mailgun", []string{".mailgun.org"}, `X-Mailgun-Variables: {"nd":"`, "\"}\r\n"},
	{"mailjet", []string{".mailjet.com"}, "X-MJ-CustomID: ", "\r\n"},
}

// ProviderOfHost is the kind of the mail provider whose relay a host is; empty where none is known by it.
func ProviderOfHost(host string) string {
	host = "." + strings.ToLower(strings.TrimSuffix(host, "."))
	for _, m := range providerMarks {
		if slices.ContainsFunc(m.hosts, func(end string) bool { return strings.HasSuffix(host, end) }) {
			return m.kind
		}
	}
	return ""
}

// MarkedProviders are the kinds that ProviderOfHost knows.
func MarkedProviders() (kinds []string) {
	for _, m := range providerMarks {
		kinds = append(kinds, m.kind)
	}
	return kinds
}

// QueueID returns the name that a provider gives a mail in reply, the text of its answer to the mail, if its events may name the
// mail by that alone: Amazon SES answers "Ok 0100018f-…", and its events carry no headers unless told to. Otherwise it is empty.
func QueueID(kind, reply string) string {
	if kind != "ses" {
		return ""
	}
	id, ok := strings.CutPrefix(reply, "Ok ")
	if id = strings.TrimSpace(id); !ok || len(id) < 20 || len(id) > 100 || strings.ContainsAny(id, " <>@") {
		return ""
	}
	return id
}

// marksOf are those of some providers, each once.
func marksOf(kinds []string) (marks []providerMark) {
	for _, m := range providerMarks {
		if slices.Contains(kinds, m.kind) {
			marks = append(marks, m)
		}
	}
	return marks
}
