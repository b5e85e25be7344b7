package core

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The severities of a CampaignFinding.
const (
	SeverityError   = "error"   // the campaign can be neither approved nor sent
	SeverityWarning = "warning" // probably a mistake
)

// CampaignFinding is one result of checking a campaign.
type CampaignFinding struct {
	Severity string       `json:"severity" enum:"error|warning" about:"error: prevents approval and sending; warning: doesn't"`
	Code     string       `json:"code"` // for programs; docs/reference.md lists them
	Message  string       `json:"message"`
	Where    FindingPlace `json:"where" about:"Place in the campaign that the finding is about"`
	Hint     string       `json:"hint,omitempty"` // what to do

	// Name is the field, merge tag, image, link or question that the finding is about, if any. Write is the placeholder
	// to use instead, if there is one.
	Name  string `json:"name,omitempty"`
	Write string `json:"write,omitempty"`

	fault *Error // the error that it was created from; nil: none
}

// FindingPlace is the location of a finding in a campaign. A zero field is unknown or does not apply.
type FindingPlace struct {
	Field string `json:"field,omitempty"` // field of the campaign: subject, content.source, from_email
	Line  int    `json:"line,omitempty"`  // line of the field's text, from 1
	Block int    `json:"block,omitempty"` // in content of kind blocks, from 1
}

// String returns the finding and its place as one line of text.
func (f CampaignFinding) String() string {
	switch {
	case f.Where.Block > 0:
		return "block " + strconv.Itoa(f.Where.Block) + ": " + f.Message
	case f.Where.Line > 0:
		return "line " + strconv.Itoa(f.Where.Line) + ": " + f.Message
	}
	return f.Message
}

// Warningf returns a finding with severity warning.
func Warningf(code string, at FindingPlace, hint, format string, args ...any) CampaignFinding {
	return CampaignFinding{
		Severity: SeverityWarning, Code: code, Message: fmt.Sprintf(format, args...), Where: at, Hint: hint,
	}
}

// Blocking returns the findings that prevent approval and sending: those with severity error.
func Blocking(all []CampaignFinding) (faults []CampaignFinding) {
	for _, f := range all {
		if f.Severity == SeverityError {
			faults = append(faults, f)
		}
	}
	return faults
}

// NotReady returns an Invalid error if a campaign's findings include errors, which prevent approval and sending. The
// returned error names the field of the first such finding and contains all findings. Otherwise, NotReady returns nil.
func NotReady(all []CampaignFinding) error {
	faults := Blocking(all)
	if len(faults) == 0 {
		return nil
	}
	e := &Error{
		Kind: Invalid, Code: "invalid_request", Message: faults[0].Message, Field: faults[0].Where.Field, Findings: faults,
	}
	if fault := faults[0].fault; fault != nil && fault.format != "" && fault.Message == e.Message {
		return e.Sayf(fault.format, fault.args...)
	}
	return e
}

// FindingOf returns the finding for an error about a campaign field.
func FindingOf(e *Error) CampaignFinding {
	code, known := faultCodes[e.Field]
	if !known {
		code = "does_not_compile"
	}
	return CampaignFinding{
		Severity: SeverityError, Code: code, Message: e.Message,
		Where: FindingPlace{Field: e.Field, Line: e.Line, Block: e.Block},
		Hint:  faultHints[code], fault: e,
	}
}

var (
	faultCodes = map[string]string{
		"list_ids": "list_missing", "from_email": "sender_not_yours",
		"content.layout": "layout_missing", "theme": "theme_missing",
	}
	faultHints = map[string]string{
		"list_missing":     "Choose at least one list.",
		"sender_not_yours": "Use an address at a verified sender domain, or leave it empty to use the tenant's sender.",
		"layout_missing":   "Create the template, or choose another one.",
		"theme_missing":    "Choose another theme.",
	}
)

// Faults checks what can be checked without compiling the campaign. It returns an error finding for each missing field,
// and for a sender that isn't on one of the tenant's domains.
func (f *CampaignFields) Faults(t *Tenant) []CampaignFinding {
	all := f.missing()
	if fault, ok := errors.AsType[*Error](f.HasSender(t)); ok {
		all = append(all, FindingOf(fault))
	}
	return all
}

// missing returns an error finding for each missing part of a campaign.
func (f *CampaignFields) missing() (all []CampaignFinding) {
	add := func(code, field, message, hint string) {
		all = append(all, CampaignFinding{
			Severity: SeverityError, Code: code, Message: message, Where: FindingPlace{Field: field}, Hint: hint,
		})
	}
	if len(f.ListIDs) == 0 {
		add("list_missing", "list_ids", "list_ids is empty. Choose at least one list.", faultHints["list_missing"])
	}
	if strings.TrimSpace(f.Subject) == "" {
		add("subject_missing", "subject", "subject is empty. Write a subject.", "Write a subject.")
	}
	if strings.TrimSpace(f.Content.Source) == "" && f.Content.Layout == "" {
		add("content_missing", "content.source", "content.source is empty. Write the content.",
			"Write the content.")
	}
	return all
}
