package mail

import (
	"bytes"
	"fmt"
	"html"
	"sync"
	"time"

	"newsletterd/core"
	"newsletterd/mail/internal/octets"
	"newsletterd/mail/internal/words"
)

// workspace holds the buffers for composing one email.
type workspace struct {
	vars Vars
	buf  []byte
}

// workspaces is shared by all jobs, because many jobs take turns.
var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// dateLine caches the Date header of the current second, which thousands of emails share.
type dateLine struct {
	second int64
	zone   *time.Location
	text   []byte
}

// appendSubject appends the subject for one recipient. It uses a default for an empty subject, which would look broken
// and which spam filters penalize.
func (b *Bulk) appendSubject(dst []byte, v *Vars) ([]byte, error) {
	start := len(dst)
	dst, err := b.subject.Append(dst, v)
	if err == nil && len(bytes.TrimSpace(dst[start:])) == 0 {
		dst = append(dst[:start], b.spareSubject()...)
	}
	return dst, err
}

// fill sets the template values in v to those of recipient r.
func (b *Bulk) fill(v *Vars, r *Recipient) {
	*v = Vars{
		Shared: &b.spec.Shared, Email: r.Email, SubscriberID: r.SubscriberID, Preferences: r.Preferences,
		UnsubscribeToken: r.UnsubscribeToken, UnsubscribeURL: r.UnsubscribeURL,
		ViewURL: r.ViewURL, PreferencesURL: r.PreferencesURL, PollURL: r.PollURL, Voter: r.Voter, Date: r.Date,
		Track: r.Track,
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

// Head renders subject and preheader for one recipient as plain text.
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

// Parts renders subject, text and HTML for one recipient, as shown in previews. It composes no message. For a text-only
// email, html is empty.
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

// Append appends the message for one recipient to dst. The result is the Data of an Envelope; Tail returns its Tail. If
// dst is reused, a message costs only a few small allocations. If the recipient's address or a token is not valid in a
// message, Append returns ErrMessage.
func (b *Bulk) Append(dst []byte, r *Recipient) ([]byte, error) {
	if !octets.Address(r.Email) || !tokenOnly(r.MessageID) || !headerURL(r.OneClickURL) ||
		r.UnsubscribeMailto != "" && !octets.Address(r.UnsubscribeMailto) {
		return dst, fmt.Errorf("%w: recipient %q", ErrMessage, core.Email(r.Email).Mask())
	}
	start := len(dst)
	w := workspaces.Get().(*workspace)
	defer func() { w.vars = Vars{}; workspaces.Put(w) }()
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

// appendEncoded renders and encodes a part in one step. Its static text is already quoted-printable, with each piece
// starting on a new line, so only the values must still be encoded.
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

// Page renders the email as a web page: its HTML, or its text if it has no HTML.
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
