package mail

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"newsletterd/core"
	"newsletterd/mail/internal/octets"
)

// BulkSpec is the content of a job, as it is the same for all recipients.
type BulkSpec struct {
	From    Address
	ReplyTo Address // left out if Email is empty
	// ListID is the left label of the List-Id, the same for the list's life; ListDomain is what follows "lists." in it
	// (the domain of From if empty). ListName is the phrase before it.
	ListID, ListName, ListDomain string
	// JobID and TenantID are in the Feedback-ID, with ListID.
	JobID, TenantID string
	// Subject, HTML, Text and Preheader are templates; Preheader is of text, as Subject is. One of HTML and Text may
	// be empty: without Text it is made of HTML, without HTML the mail is text/plain alone.
	Subject, HTML, Text, Preheader string
	// SubjectPrefix comes before the subject in the header, and nowhere in the body.
	SubjectPrefix string
	// HTMLLayout and TextLayout, if not empty, hold {{content}} once: the body replaces it.
	HTMLLayout, TextLayout string
	// UnsubscribeURL is the job's own visible link with {{unsubscribe_token}} in it; empty: the recipient's.
	UnsubscribeURL string
	// Language is that of the footer, one of core.Languages; any other means the first.
	Language string
	Shared   Shared
	// Providers are the kinds of mail providers that the mail may go through. It gets the mark of each (marks.go).
	Providers []string
	// Track is what is tracked in the HTML part; the zero value tracks nothing.
	Track Tracking
	// Mended says where links of the HTML part lead instead of the addresses that they were written with.
	Mended map[string]string
	// Attachments are files that come with the mail; nil: none.
	Attachments *Attachments
	// Notice is a sentence before the body of a page, as text; empty: none.
	Notice string
}

// Recipient is what differs between the mails of a job.
type Recipient struct {
	Email        string
	SubscriberID string
	Preferences  string // a JSON object
	// MessageID is the token made by Ident.Message.
	MessageID string
	// Date is the time of sending.
	Date time.Time
	// OneClickURL is the https address of List-Unsubscribe (RFC 8058): token and all, always our own.
	OneClickURL string
	// UnsubscribeMailto is the mailto address next to it; empty if no bounce domain is set.
	UnsubscribeMailto string
	UnsubscribeToken  string
	// Track makes the tokens of the links that Bulk.Links lists; nil in a mail of which nothing is tracked.
	Track *Tracker
	// UnsubscribeURL, ViewURL and PreferencesURL are the links a body may print.
	UnsubscribeURL, ViewURL, PreferencesURL string
}

// Bulk is the compiled content of a job. It is safe for concurrent use.
type Bulk struct {
	spec          BulkSpec
	subject       *Template
	html, text    *Template
	links         []string // that are tracked
	tried         []string // warnings of the first rendering
	marks         []providerMark
	unsubscribe   *Template
	htmlB64       bool
	textB64       bool
	head          []byte    // From and Reply-To
	tail          []byte    // List-Id, Feedback-ID and the rest that is the same
	scratch       sync.Pool // of *workspace
	date          atomic.Pointer[dateLine]
	staticSubject []byte
}

// gmailClip is the size in octets at which Gmail cuts a mail off.
const gmailClip = 102_400

// CompileBulk reads and checks the content of a job and renders it once for an empty subscriber. Errors are
// *core.Error of kind Invalid, code validation_error, with the field at fault (subject, body_html, body_text,
// template) and, for templates, the line and column in the message.
func CompileBulk(spec *BulkSpec) (*Bulk, error) {
	b := &Bulk{spec: *spec, marks: marksOf(spec.Providers)}
	b.scratch.New = func() any { return new(workspace) }
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

// compileUnsubscribe reads the job's own link. It must be http(s), name the token, and nothing but the token.
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

// compileBodies compiles both parts and chooses their encodings.
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

// encode reports whether a part is better in base64, by its static text. If not, it writes that in quoted-printable
// beforehand.
func (t *Template) encode() (base64 bool) {
	high, size := 0, 0
	for i := range t.nodes {
		h, n := countHigh(t.nodes[i].text)
		high, size = high+h, size+n
	}
	if manyHigh(high, size) {
		return true
	}
	for i := range t.nodes {
		if n := &t.nodes[i]; n.op == opText {
			n.enc, n.encCol = appendQP(nil, []byte(n.text), 0)
		}
	}
	return false
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

// spareSubject is what stands in for a subject that is empty: the job's name, else the list's.
func (b *Bulk) spareSubject() string {
	return cmp.Or(strings.TrimSpace(b.spec.Shared.Job["name"]), strings.TrimSpace(b.spec.ListName), "Newsletter")
}

// dynamic reports whether any node depends on the recipient.
func (t *Template) dynamic() bool {
	for i := range t.nodes {
		if t.nodes[i].op != opText {
			return true
		}
	}
	return false
}

// shortID is the last 12 characters of an id: enough to tell streams apart, and the header stays one line.
func shortID(id string) string { return id[max(0, len(id)-12):] }

// try renders everything once for a subscriber of whom nothing is known.
func (b *Bulk) try() error {
	r := &Recipient{Email: "reader@example.org", MessageID: "0000000000000000", OneClickURL: "https://example.org/"}
	msg, err := b.Append(nil, r)
	if err != nil {
		return (&core.Error{Kind: core.Invalid, Code: "validation_error", Field: "body_html", Err: err}).
			Sayf("The email can't be rendered: %s.", err)
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

// Warnings tell of what is allowed and probably not meant: unknown fields, a mail too long for Gmail.
func (b *Bulk) Warnings() []string {
	out := append([]string(nil), b.subject.warnings...)
	if b.html != nil {
		out = append(out, b.html.warnings...)
	}
	return append(append(out, b.text.warnings...), b.tried...)
}

// PrintsView reports whether any part names view_url: then a Recipient should have one.
func (b *Bulk) PrintsView() bool {
	return b.subject.view || b.text.view || b.html != nil && b.html.view
}
