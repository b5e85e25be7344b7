package mail

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"newsletterd/core"
	"newsletterd/mail/internal/octets"
	"newsletterd/mail/internal/words"
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

// workspace holds what composing one mail needs.
type workspace struct {
	vars Vars
	buf  []byte
}

// dateLine is the Date header of a second, which thousands of mails share.
type dateLine struct {
	second int64
	zone   *time.Location
	text   []byte
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
			return core.Invalidf(field, "The address %q can not be mailed from.", a)
		}
	}
	if s.HTML == "" && s.Text == "" {
		return &core.Error{
			Kind: core.Invalid, Code: "validation_error", Field: "body_html", Message: "The message has no body.",
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
			Message: "The URL must be absolute, http or https, and hold {{unsubscribe_token}}.",
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

// appendSubject appends the subject as a recipient reads it. One that is empty is replaced: a mail without a subject
// looks broken, and spam filters hold it against the sender.
func (b *Bulk) appendSubject(dst []byte, v *Vars) ([]byte, error) {
	start := len(dst)
	dst, err := b.subject.Append(dst, v)
	if err == nil && len(bytes.TrimSpace(dst[start:])) == 0 {
		dst = append(dst[:start], b.spareSubject()...)
	}
	return dst, err
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
		return &core.Error{
			Kind: core.Invalid, Code: "validation_error", Field: "body_html",
			Message: "The message can't be rendered: " + err.Error() + ".", Err: err,
		}
	}
	subject, err := b.subject.Append(nil, &Vars{Shared: &b.spec.Shared, Email: r.Email})
	if err == nil && len(bytes.TrimSpace(subject)) == 0 {
		const warning = "the subject is empty for a reader of whom nothing is known; %q is sent in its place"
		b.warn(warning, b.spareSubject())
	}
	if strings.Contains(b.spec.HTML, "data:image") {
		b.warn("images as data: URIs are dropped by Gmail and Outlook; link to them instead")
	}
	if n := imagesWithoutAlt(b.spec.HTML + b.spec.HTMLLayout); n > 0 {
		b.warn("images without alt: %d; many readers see no images", n)
	}
	if len(msg) >= gmailClip {
		b.warn("the mail has %d octets; Gmail cuts off behind %d", len(msg), gmailClip)
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

// fill makes the values of a recipient.
func (b *Bulk) fill(v *Vars, r *Recipient) {
	*v = Vars{
		Shared: &b.spec.Shared, Email: r.Email, SubscriberID: r.SubscriberID, Preferences: r.Preferences,
		UnsubscribeToken: r.UnsubscribeToken, UnsubscribeURL: r.UnsubscribeURL,
		ViewURL: r.ViewURL, PreferencesURL: r.PreferencesURL, Date: r.Date, Track: r.Track,
	}
	if b.unsubscribe != nil {
		url, _ := b.unsubscribe.Append(nil, v)
		v.UnsubscribeURL = string(url)
	}
	if b.text.subject || b.html != nil && b.html.subject {
		subject, _ := b.appendSubject(nil, v)
		v.Subject = string(subject)
	}
}

// Head renders subject and preheader, as text.
func (b *Bulk) Head(r *Recipient) (subject, preheader string, err error) {
	var v Vars
	b.fill(&v, r)
	t, err := Compile(PartHeader, "template.preheader", b.spec.Preheader)
	if err != nil {
		return "", "", err
	}
	head, err := b.appendSubject(nil, &v)
	if err != nil {
		return "", "", fmt.Errorf("render: %w", err)
	}
	pre, err := t.Append(nil, &v)
	if err != nil {
		return "", "", fmt.Errorf("render: %w", err)
	}
	return string(head), string(pre), nil
}

// Parts renders subject, text and HTML without composing a mail, for previews. html is empty for a mail of text alone.
func (b *Bulk) Parts(r *Recipient) (subject, text, html string, err error) {
	var v Vars
	b.fill(&v, r)
	if head, err := b.appendSubject(nil, &v); err == nil {
		subject = string(head)
	} else {
		return "", "", "", fmt.Errorf("render: %w", err)
	}
	for _, p := range [...]struct {
		t   *Template
		out *string
	}{{b.text, &text}, {b.html, &html}} {
		if p.t == nil {
			continue
		}
		out, err := p.t.Append(nil, &v)
		if err != nil {
			return "", "", "", fmt.Errorf("render: %w", err)
		}
		*p.out = string(out)
	}
	return subject, text, html, nil
}

// Append appends the mail for one recipient to dst: the bytes of an Envelope, whose tail is Tail. With dst reused, a mail
// costs a handful of small allocations. ErrMessage: the recipient's address or token can't stand in a mail.
func (b *Bulk) Append(dst []byte, r *Recipient) ([]byte, error) {
	if !octets.Address(r.Email) || !tokenOnly(r.MessageID) || !headerURL(r.OneClickURL) ||
		r.UnsubscribeMailto != "" && !octets.Address(r.UnsubscribeMailto) {
		return dst, fmt.Errorf("%w: recipient %q", ErrMessage, core.Email(r.Email).Mask())
	}
	start := len(dst)
	w := b.scratch.Get().(*workspace)
	defer func() { w.vars = Vars{}; b.scratch.Put(w) }()
	b.fill(&w.vars, r)
	dst, err := b.appendHeaders(dst, r, &w.vars, &w.buf)
	if a := b.spec.Attachments; err == nil && a != nil {
		if dst, err = b.appendBody(a.appendMixed(dst), r.MessageID, &w.vars, &w.buf); err == nil {
			dst = a.appendBoundary(dst)
		}
	} else if err == nil {
		dst, err = b.appendBody(dst, r.MessageID, &w.vars, &w.buf)
	}
	if err != nil {
		return dst[:start], fmt.Errorf("render: %w", err)
	}
	return dst, nil
}

func (b *Bulk) appendHeaders(dst []byte, r *Recipient, v *Vars, scratch *[]byte) ([]byte, error) {
	dst = append(dst, b.head...)
	dst = append(dst, "To: <"...)
	dst = append(dst, r.Email...)
	dst = append(dst, ">\r\n"...)
	if b.staticSubject != nil {
		dst = append(dst, b.staticSubject...)
	} else {
		text, err := b.appendSubject((*scratch)[:0], v)
		if err != nil {
			return dst, err
		}
		*scratch = text
		dst = appendTextHeader(dst, "Subject", b.spec.SubjectPrefix+string(text))
	}
	dst = b.appendDate(dst, r.Date)
	dst = append(dst, "Message-ID:"...)
	if domain := domainOf(b.spec.From.Email); len(r.MessageID)+len(domain)+15 > softLine {
		dst = append(dst, "\r\n"...)
	}
	dst = append(dst, " <"...)
	dst = append(dst, r.MessageID...)
	dst = append(dst, '@')
	dst = append(dst, domainOf(b.spec.From.Email)...)
	dst = append(dst, ">\r\nList-Unsubscribe: <"...)
	dst = append(dst, r.OneClickURL...)
	if r.UnsubscribeMailto != "" {
		dst = append(dst, ">,\r\n <mailto:"...)
		dst = append(dst, r.UnsubscribeMailto...)
		dst = append(dst, "?subject=unsubscribe"...)
	}
	dst = append(dst, ">\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"...)
	for i := range b.marks {
		dst = append(dst, b.marks[i].before...)
		dst = append(dst, r.MessageID...)
		dst = append(dst, b.marks[i].after...)
	}
	return append(dst, b.tail...), nil
}

func (b *Bulk) appendDate(dst []byte, at time.Time) []byte {
	d := b.date.Load()
	if second := at.Unix(); d == nil || d.second != second || d.zone != at.Location() {
		d = &dateLine{second, at.Location(), appendDate(nil, at)}
		b.date.Store(d)
	}
	return append(dst, d.text...)
}

func (b *Bulk) appendBody(dst []byte, token string, v *Vars, scratch *[]byte) ([]byte, error) {
	if b.html == nil {
		dst = appendPartHeader(dst, "plain", b.textB64)
		return b.text.appendEncoded(dst, v, b.textB64, scratch)
	}
	dst = appendMultipart(dst, token)
	dst = appendBoundary(dst, token)
	dst = appendPartHeader(dst, "plain", b.textB64)
	dst, err := b.text.appendEncoded(dst, v, b.textB64, scratch)
	if err != nil {
		return dst, err
	}
	dst = appendBoundary(dst, token)
	dst = appendPartHeader(dst, "html", b.htmlB64)
	if dst, err = b.html.appendEncoded(dst, v, b.htmlB64, scratch); err != nil {
		return dst, err
	}
	return appendClosing(dst, token), nil
}

// appendEncoded renders and encodes at once: static pieces lie ready in quoted-printable, each beginning a
// line of its own; only values are encoded here.
func (t *Template) appendEncoded(dst []byte, v *Vars, base64 bool, scratch *[]byte) ([]byte, error) {
	if base64 {
		text, err := t.Append((*scratch)[:0], v)
		if err != nil {
			return dst, err
		}
		*scratch = text
		return appendBase64(dst, text), nil
	}
	start, col := len(dst), 0
	run := t.begin(v)
	for pc := 0; pc < len(t.nodes); {
		n := &t.nodes[pc]
		switch n.op {
		case opText:
			if n.enc[0] != '\r' {
				dst = softBreak(dst, col)
			}
			dst = append(dst, n.enc...)
			col = n.encCol
		case opOutput:
			*scratch = run.append((*scratch)[:0], n)
			dst, col = appendQP(dst, *scratch, col)
		case opTrack:
			*scratch = v.Track.append((*scratch)[:0], n.target)
			dst, col = appendQP(dst, *scratch, col)
		}
		if len(dst)-start > maxOutput || run.work > maxWork {
			return dst[:start], ErrTooLong
		}
		pc = run.next(n, pc)
	}
	if col > 0 {
		dst = append(dst, '\r', '\n')
	}
	return dst, nil
}

// Page renders a mail as a page of a browser: its HTML, or its text as it stands.
func (b *Bulk) Page(r *Recipient) ([]byte, error) {
	subject, text, page, err := b.Parts(r)
	if err != nil || b.html != nil {
		return []byte(page), err
	}
	notice := ""
	if b.spec.Notice != "" {
		notice = "<p>" + html.EscapeString(b.spec.Notice) + "</p>"
	}
	return []byte(`<!DOCTYPE html><html lang="` + words.Language(b.spec.Language) +
		`"><head><meta charset="utf-8"><title>` + html.EscapeString(subject) +
		"</title></head><body>" + notice + "<pre style=\"white-space:pre-wrap\">" + html.EscapeString(text) + "</pre></body></html>\n"), nil
}
