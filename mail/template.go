package mail

import (
	"errors"
	"fmt"
	"time"

	"newsletterd/core"
)

// These limits bound the work for a hostile template. Rendering is linear in nodes and output.
const (
	maxTemplate   = 1 << 20 // bytes of source
	maxNesting    = 20      // nested blocks
	maxNodes      = 10_000
	maxOutput     = 2 << 20 // bytes of one rendered part
	maxExpression = 2_000   // bytes between braces
	maxAttributes = 1_000   // attributes in a tag: parsers compare each with all before it
)

// ErrTooLong is returned if a rendered part exceeds 2 MiB, or if its template reads preferences too often.
var ErrTooLong = errors.New("the part is too long or takes too long to render")

// TemplateError is an error in a template at a line and column. The column counts characters, and both start at 1.
// Callers get it inside a *core.Error of kind Invalid with code validation_error that names the field.
type TemplateError struct {
	Field     string
	Line, Col int
	Problem   string
	// Placeholder is the source of the placeholder or tag at fault. It is empty if there is none, or if it is unclosed.
	// Later is the number of later occurrences of the same text.
	Placeholder string
	Later       int
	// Name is the unknown name, and Write the placeholder to use instead. Both are empty for other errors.
	Name, Write string
}

func (e *TemplateError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Col, e.Problem)
}

// Invalid returns the error for callers: a *core.Error of kind Invalid that wraps e.
func (e *TemplateError) Invalid() error {
	return (&core.Error{
		Kind: core.Invalid, Code: "validation_error", Field: e.Field, Line: e.Line, Err: e,
	}).Sayf("%s", e)
}

// Part is the kind of text that a template generates. It determines the escaping.
type Part uint8

// The values of Part.
const (
	PartHeader Part = iota // one line: control characters become spaces
	PartText               // text/plain
	PartHTML               // text/html, escaped by the context of each placeholder
)

// Shared holds the values shared by all recipients of a job: the fields of list.*, tenant.* and job.*. A missing key
// prints nothing.
type Shared struct {
	List, Tenant, Job map[string]string
}

// record returns the fields of the record that r names, or nil if r names anything else.
func (s *Shared) record(r root) map[string]string {
	switch r {
	case rootList:
		return s.List
	case rootTenant:
		return s.Tenant
	case rootJob:
		return s.Job
	}
	return nil
}

// Vars holds the values of one recipient. The caller creates the links. A missing link prints nothing.
type Vars struct {
	Shared *Shared
	Email  string
	// SubscriberID is subscriber.id.
	SubscriberID string
	// Preferences is the stored JSON object; it is parsed only as far as a template needs it.
	Preferences      string
	UnsubscribeToken string
	UnsubscribeURL   string
	ViewURL          string
	PreferencesURL   string
	// PollURL is the prefix of poll URLs. A token from Voter follows. If Voter is nil, PollPreview follows instead, and
	// answers aren't counted.
	PollURL string
	Voter   *Voter
	// Subject is job.subject rendered for this recipient; empty: the subject's source.
	Subject string
	// Track creates the tokens for links and pixel; nil: no tracking.
	Track *Tracker
	// Date is the date that {{ "now" | date: "%Y" }} prints.
	Date time.Time
}

// Template is a compiled template: a flat list of nodes without loops. It is safe for concurrent use.
type Template struct {
	part     Part
	nodes    []node
	prefs    bool // some path starts with preferences
	unsub    bool // prints an unsubscribe link or token
	view     bool // uses view_url
	polls    bool // uses poll_url
	subject  bool // uses job.subject
	size     int  // bytes of static text
	warnings []warning
}

// Compile parses a template (see doc.go for the language). field names the source in errors, which are *core.Error with
// a *TemplateError inside.
func Compile(part Part, field, src string) (*Template, error) {
	tokens, err := lex(&source{field, cleanBody(src)})
	if err != nil {
		return nil, err
	}
	return compileTokens(part, tokens)
}

// Warnings returns warnings about content that is permitted but probably unintended.
func (t *Template) Warnings() (texts []string) {
	for _, w := range t.warnings {
		texts = append(texts, w.String())
	}
	return texts
}

// Append renders the template for one recipient and appends the result to dst.
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
