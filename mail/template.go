package mail

import (
	"errors"
	"fmt"
	"time"

	"newsletterd/core"
)

// Limits of a template. They bound the work of a hostile one: rendering is linear in nodes and output.
const (
	maxTemplate   = 1 << 20 // octets of source
	maxNesting    = 20      // blocks in blocks
	maxNodes      = 10_000
	maxOutput     = 2 << 20 // octets of one rendered part
	maxExpression = 2_000   // octets between braces
	maxAttributes = 1_000   // of a tag: parsers look each one up among those before it
)

// ErrTooLong is returned when a part grows over 2 MiB in rendering, or reads preferences too often.
var ErrTooLong = errors.New("the part is too long or takes too long to render")

// TemplateError is a fault in a template, at a line and column (in characters, from 1). It reaches a caller
// inside a *core.Error of kind Invalid and code validation_error that names the field.
type TemplateError struct {
	Field     string
	Line, Col int
	Problem   string
	// Placeholder is the text of the placeholder or tag at the fault, as the template has it; empty: there is none, or it
	// is not closed. Later is how many others of the same text follow it.
	Placeholder string
	Later       int
}

func (e *TemplateError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Col, e.Problem)
}

// Invalid returns the error that reaches a caller: a *core.Error of kind Invalid around e.
func (e *TemplateError) Invalid() error {
	return (&core.Error{
		Kind: core.Invalid, Code: "validation_error", Field: e.Field, Line: e.Line, Err: e,
	}).Sayf("%s", e)
}

// Part is the kind of text that a template makes; it decides the escaping.
type Part uint8

// The parts.
const (
	PartHeader Part = iota // one line: controls become blanks
	PartText               // text/plain
	PartHTML               // text/html, escaped by the place of each placeholder
)

// Shared are the values that all recipients of a job have in common: the fields of list.*, tenant.* and
// job.*. What is not in a map prints as nothing.
type Shared struct {
	List, Tenant, Job map[string]string
}

// Vars are the values of one recipient. Links are made by the caller; an absent one prints as nothing.
type Vars struct {
	Shared *Shared
	Email  string
	// SubscriberID is subscriber.id.
	SubscriberID string
	// Preferences is the JSON object as stored; it is looked into only where a template asks.
	Preferences      string
	UnsubscribeToken string
	UnsubscribeURL   string
	ViewURL          string
	PreferencesURL   string
	// Subject is job.subject as this recipient reads it; empty: as its author wrote it.
	Subject string
	// Track makes the tokens of links and pixel; nil where nothing is tracked.
	Track *Tracker
	// Date is what {{ "now" | date: "%Y" }} prints.
	Date time.Time
}

// Template is a compiled template: a flat list of pieces, without loops. Safe for concurrent use.
type Template struct {
	part     Part
	nodes    []node
	prefs    bool // some path begins with preferences
	unsub    bool // an unsubscribe link or token is printed
	view     bool // the link to the mail in a browser is named
	subject  bool // job.subject is named
	size     int  // octets of static text
	warnings []string
}

// Compile reads a template (the language is described in doc.go). field names the source in errors, which
// are *core.Error with a *TemplateError inside.
func Compile(part Part, field, src string) (*Template, error) {
	tokens, err := lex(&source{field, cleanBody(src)})
	if err != nil {
		return nil, err
	}
	return compileTokens(part, tokens)
}

// Warnings tell of things that are allowed and probably not meant.
func (t *Template) Warnings() []string { return t.warnings }

// Append appends the template, rendered for one recipient, to dst.
func (t *Template) Append(dst []byte, v *Vars) ([]byte, error) {
	start := len(dst)
	run := t.begin(v)
	for pc := 0; pc < len(t.nodes); {
		n := &t.nodes[pc]
		switch n.op {
		case opText:
			dst = append(dst, n.text...)
		case opOutput:
			dst = run.append(dst, n)
		case opTrack:
			dst = v.Track.append(dst, n.target)
		}
		if len(dst)-start > maxOutput || run.work > maxWork {
			return dst[:start], ErrTooLong
		}
		pc = run.next(n, pc)
	}
	return dst, nil
}
