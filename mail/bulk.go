package mail

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"newsletterd/core"
	"newsletterd/mail/internal/octets"
)

// BulkSpec is the content of a job, shared by all recipients.
type BulkSpec struct {
	From    Address
	ReplyTo Address // omitted if Email is empty
	// ListID is the first label of the List-Id header and must never change. "lists." and ListDomain follow; the
	// default for ListDomain is the domain of From. ListName is the phrase before the List-Id.
	ListID, ListName, ListDomain string
	// JobID and TenantID are part of the Feedback-ID, together with ListID.
	JobID, TenantID string
	// Subject, HTML, Text and Preheader are templates. Subject and Preheader are text. HTML or Text may be empty: an
	// empty Text is generated from HTML, and without HTML the message is plain text.
	Subject, HTML, Text, Preheader string
	// SubjectPrefix precedes the subject in the header only, not in the body.
	SubjectPrefix string
	// HTMLLayout and TextLayout contain {{content}} exactly once, where the body goes. They may be empty.
	HTMLLayout, TextLayout string
	// UnsubscribeURL is the job's own visible link, which contains {{unsubscribe_token}}; empty: the recipient's.
	UnsubscribeURL string
	// Language is the language of the footer, one of core.Languages; any other value means the first.
	Language string
	Shared   Shared
	// Providers lists the kinds of email providers that the message may pass through. The message gets the mark of each
	// of them (marks.go).
	Providers []string
	// Track selects what is tracked in the HTML part; the zero value tracks nothing.
	Track Tracking
	// Mended maps URLs in links of the HTML part to their replacements.
	Mended map[string]string
	// Attachments are the attached files; nil: none.
	Attachments *Attachments
	// Notice is a plain-text sentence before the body of a page; empty: none.
	Notice string
}

// Recipient holds the values that differ between the messages of a job.
type Recipient struct {
	Email        string
	SubscriberID string
	Preferences  string // a JSON object
	// MessageID is the token returned by Ident.Message.
	MessageID string
	// Date is the time of sending.
	Date time.Time
	// OneClickURL is the https URL for List-Unsubscribe (RFC 8058), with its token. It leads to newsletterd itself.
	OneClickURL string
	// UnsubscribeMailto is the mailto address for List-Unsubscribe; empty without a bounce domain.
	UnsubscribeMailto string
	UnsubscribeToken  string
	// Track creates the tokens of the links in Bulk.Links; nil in a message without tracking.
	Track *Tracker
	// UnsubscribeURL, ViewURL and PreferencesURL are the links that a body may print.
	UnsubscribeURL, ViewURL, PreferencesURL string
	// PollURL and Voter are as in Vars.
	PollURL string
	Voter   *Voter
}

// Bulk is the compiled content of a job. It is safe for concurrent use.
type Bulk struct {
	spec          BulkSpec
	subject       *Template
	html, text    *Template
	links         []string // tracked links
	tried         []string // warnings from the trial rendering
	marks         []providerMark
	unsubscribe   *Template
	htmlB64       bool
	textB64       bool
	head          []byte // From and Reply-To
	tail          []byte // List-Id, Feedback-ID and the other constant fields
	date          atomic.Pointer[dateLine]
	staticSubject []byte
}

// gmailClip is the size in bytes at which Gmail clips a message.
const gmailClip = 102_400

// CompileBulk parses and checks the content of a job and renders it once for an empty subscriber. Errors are
// *core.Error of kind Invalid with code validation_error. They name the field at fault (subject, body_html, body_text
// or template) and, for templates, the line and column in the message.
func CompileBulk(spec *BulkSpec) (*Bulk, error) {
	b := &Bulk{spec: *spec, marks: marksOf(spec.Providers)}
	if err := b.checkSpec(); err != nil {
		return nil, err
	}
	var err error
	if b.subject, err = Compile(PartHeader, "subject", spec.Subject); err != nil {
		return nil, err
	}
	if spec.UnsubscribeURL != "" {
		if b.unsubscribe, err = compileUnsubscribe(spec.UnsubscribeURL); err != nil {
			return nil, err
		}
	}
	if err := b.compileBodies(); err != nil {
		return nil, err
	}
	b.compileHeaders()
	return b, b.try()
}

func (b *Bulk) checkSpec() error {
	s := &b.spec
	for field, a := range map[string]string{"mail_from": s.From.Email, "reply_to": s.ReplyTo.Email} {
		if (a != "" || field == "mail_from") && !octets.Address(a) {
			return core.Invalidf(field, "%q can't be used as a sender. Use a plain email address.", a)
		}
	}
	if s.HTML == "" && s.Text == "" {
		return &core.Error{
			Kind: core.Invalid, Code: "validation_error", Field: "body_html",
			Message: "The email has no content. Set body_html or body_text.",
		}
	}
	return nil
}

// compileUnsubscribe parses the job's own unsubscribe link. It must be an http or https URL with the unsubscribe token
// as its only placeholder.
func compileUnsubscribe(src string) (*Template, error) {
	const field = "template.unsubscribe_url"
	t, err := Compile(PartHeader, field, src)
	if err != nil {
		return nil, err
	}
	var v Vars
	url, _ := t.Append(nil, &v)
	if !t.unsub || !httpURL(string(url)) {
		return nil, &core.Error{
			Kind: core.Invalid, Code: "validation_error", Field: field,
			Message: "The URL must be an absolute http or https URL with the placeholder {{unsubscribe_token}}.",
		}
	}
	return t, nil
}

// compileBodies compiles the HTML and text parts and chooses their encodings.
func (b *Bulk) compileBodies() error {
	html, text, err := b.bodyTokens()
	if err != nil {
		return err
	}
	if html != nil {
		if b.html, err = compileTokens(PartHTML, html); err != nil {
			return err
		}
		b.htmlB64 = b.html.encode()
	}
	if b.text, err = compileTokens(PartText, text); err != nil {
		return err
	}
	b.textB64 = b.text.encode()
	return nil
}

// encode chooses a part's encoding and reports whether it is base64, which depends on the static text. For
// quoted-printable, encode encodes the static text in advance.
func (t *Template) encode() (base64 bool) {
	high, size := 0, 0
	for i := range t.nodes {
		h, n := countHigh(t.nodes[i].text)
		high, size = high+h, size+n
	}
	if manyHigh(high, size) {
		return true
	}
	var scratch []byte
	for i := range t.nodes {
		if n := &t.nodes[i]; n.op == opText {
			scratch, n.encCol = appendQP(scratch[:0], []byte(n.text), 0)
			n.enc = bytes.Clone(scratch) // without spare capacity
		}
	}
	return false
}

// ForSending frees the sources of the bodies and their already encoded text, which Append doesn't need. Afterwards,
// don't call methods that render pages or check the content.
func (b *Bulk) ForSending() {
	s := &b.spec
	s.HTML, s.Text, s.Preheader, s.HTMLLayout, s.TextLayout = "", "", "", "", ""
	s.Mended, b.tried, b.links = nil, nil, nil
	for _, part := range []struct {
		t      *Template
		base64 bool
	}{{b.html, b.htmlB64}, {b.text, b.textB64}} {
		if part.t == nil {
			continue
		}
		part.t.warnings = nil
		for i := range part.t.nodes {
			if n := &part.t.nodes[i]; n.op == opText && !part.base64 {
				n.text = ""
			}
		}
	}
}

func (b *Bulk) compileHeaders() {
	s := &b.spec
	b.head = appendAddressHeader(nil, "From", s.From)
	if s.ReplyTo.Email != "" {
		b.head = appendAddressHeader(b.head, "Reply-To", s.ReplyTo)
	}
	domain := s.ListDomain
	if domain == "" {
		domain = domainOf(s.From.Email)
	}
	b.tail = appendAddressHeader(nil, "List-Id", Address{Name: s.ListName, Email: s.ListID + ".lists." + domain})
	feedback := shortID(s.JobID) + ":" + shortID(s.ListID) + ":" + shortID(s.TenantID) + ":newsletterd"
	b.tail = appendHeader(b.tail, "Feedback-ID", feedback)
	b.tail = append(b.tail, "Precedence: bulk\r\nMIME-Version: 1.0\r\n"...)
	if !b.subject.dynamic() {
		text, _ := b.appendSubject(nil, &Vars{})
		b.staticSubject = appendTextHeader(nil, "Subject", s.SubjectPrefix+string(text))
	}
}

// spareSubject returns the default for an empty subject: the name of the job or, if it has none, of the list.
func (b *Bulk) spareSubject() string {
	return cmp.Or(strings.TrimSpace(b.spec.Shared.Job["name"]), strings.TrimSpace(b.spec.ListName), "Newsletter")
}

// dynamic reports whether the rendered template depends on the recipient.
func (t *Template) dynamic() bool {
	for i := range t.nodes {
		if t.nodes[i].op != opText {
			return true
		}
	}
	return false
}

// shortID returns the last 12 characters of an id. They suffice to identify it in a header, which then fits on one
// line.
func shortID(id string) string { return id[max(0, len(id)-12):] }

// try renders all parts once for a subscriber without any fields, to find errors and warnings.
func (b *Bulk) try() error {
	r := &Recipient{Email: "reader@example.org", MessageID: "0000000000000000", OneClickURL: "https://example.org/"}
	msg, err := b.Append(nil, r)
	if err != nil {
		return (&core.Error{Kind: core.Invalid, Code: "validation_error", Field: "body_html", Err: err}).
			Sayf("The email can't be rendered: %s. Correct the content or the template.", err)
	}
	subject, err := b.subject.Append(nil, &Vars{Shared: &b.spec.Shared, Email: r.Email})
	if err == nil && len(bytes.TrimSpace(subject)) == 0 {
		const warning = "The subject is empty for subscribers with no details. They get %q instead."
		b.warn(warning, b.spareSubject())
	}
	if strings.Contains(b.spec.HTML, "data:image") {
		b.warn("Gmail and Outlook remove images in data: URIs. Link to them instead.")
	}
	if n := imagesWithoutAlt(b.spec.HTML + b.spec.HTMLLayout); n > 0 {
		b.warn("%d images have no alt text. Add it for subscribers who don't see images.", n)
	}
	if len(msg) >= gmailClip {
		b.warn("The email has %d bytes. Gmail cuts it off after %d.", len(msg), gmailClip)
	}
	return nil
}

func (b *Bulk) warn(format string, args ...any) {
	b.tried = append(b.tried, fmt.Sprintf(format, args...))
}

// Warnings returns warnings about content that is permitted but probably unintended, such as unknown fields or an email
// that is too long for Gmail.
func (b *Bulk) Warnings() []string {
	out := b.subject.Warnings()
	if b.html != nil {
		out = append(out, b.html.Warnings()...)
	}
	return append(append(out, b.text.Warnings()...), b.tried...)
}

// PrintsView reports whether any part uses view_url. If so, each Recipient should have a ViewURL.
func (b *Bulk) PrintsView() bool {
	return b.subject.view || b.text.view || b.html != nil && b.html.view
}
