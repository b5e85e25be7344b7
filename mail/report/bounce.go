package report

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"mime"
	netmail "net/mail"
	"strconv"
	"strings"
	"time"

	"github.com/emersion/go-message"
	"github.com/emersion/go-message/textproto"

	"newsletterd/core"
	"newsletterd/mail/smtp"
)

// MaxBounce is how much of a mail that came back is read, in bytes. Reports come before what they return.
const MaxBounce = 1 << 20

// maxBounceAge is how old the date of a mail that came back may be.
const maxBounceAge = 30 * 24 * time.Hour

const (
	maxBounceHeader = 64 << 10
	maxBounceParts  = 8  // of one mail
	maxBounceGroups = 16 // of one delivery status: we send to one recipient at a time
)

// ParseBounce returns what a mail reports that came to rcpt, its envelope recipient (empty if unknown): a delivery
// status notification (RFC 3464), a feedback report (RFC 5965, or Outlook.com's form), a bounce of no standard form, or
// a request to unsubscribe, which is any mail to the address of List-Unsubscribe. The reports have no address but Names,
// because only names that we made are believed. Any other mail, as the reply of a person or an automatic one, reports
// nothing.
func ParseBounce(rcpt string, data []byte, now core.Instant) []core.ProviderReport {
	data = data[:min(len(data), MaxBounce)]
	m, err := message.ReadWithOptions(bytes.NewReader(data), &message.ReadOptions{MaxHeaderBytes: maxBounceHeader})
	if m == nil || err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
		return nil
	}
	names := append([]string{rcpt}, addressees(&m.Header)...)
	b := &bounce{names: names, at: dateOf(&m.Header, now), id: bounceID(&m.Header, data)}
	kind, params, _ := m.Header.ContentType()
	form := strings.ToLower(params["report-type"])
	b.parts(m)
	switch {
	case kind == "multipart/report" && form != "disposition-notification" && b.machine == "message/feedback-report":
		b.feedback()
	case kind == "multipart/report" && form != "disposition-notification" && b.machine != "":
		b.status()
	case b.junk: // Outlook.com's complaints (JMRP)
		b.add(complained)
	case b.to("u+") != "": // sent by a mail program for its user, who may not have seen it (RFC 2369 section 3.2)
		b.at = now // by another clock the request could come before the subscription
		b.add(unsubscribed, b.to("u+"))
	case b.to("b+") == "" || !cameBack(&m.Header, b.text): // without our return address it may be any mail
	case strings.HasSuffix(b.machine, "delivery-status"):
		b.status()
	default:
		b.told(headerText(&m.Header, "Subject"), b.text)
	}
	var out []core.ProviderReport
	for i := range b.out {
		if p := b.out[i]; settle(&p, now) {
			out = append(out, p)
		}
	}
	return out
}

// bounce is the state of reading a mail that came back.
type bounce struct {
	names []string // of the mail that it is about
	at    core.Instant
	id    string
	out   []core.ProviderReport

	machine string // media type of the part for programs; empty: none
	report  []byte // that part
	text    string // the beginning of the first part for people
	junk    bool   // what came back has the mark of Outlook.com's complaints
}

// addressees returns where the header says that a mail was delivered to. One of them may be our return address.
func addressees(h *message.Header) (to []string) {
	for _, field := range []string{"Delivered-To", "X-Original-To", "Envelope-To", "To"} {
		list, err := netmail.ParseAddressList(h.Get(field))
		if err != nil {
			continue
		}
		for _, a := range list {
			to = append(to, a.Address)
		}
	}
	return to[:min(len(to), maxBounceGroups)]
}

// dateOf returns the date of a mail, or now if it can't be true.
func dateOf(h *message.Header, now core.Instant) core.Instant {
	t, err := netmail.ParseDate(h.Get("Date"))
	if err != nil || !within(core.At(t), now, maxBounceAge) {
		return now
	}
	return core.At(t)
}

// bounceID returns a name of the mail, by which it counts once.
func bounceID(h *message.Header, data []byte) string {
	if id := strings.TrimSpace(h.Get("Message-Id")); id != "" && len(id) <= 998 {
		return id
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// add adds a report of outcome.
func (b *bounce) add(outcome core.ProviderEvent, names ...string) {
	key := core.ProviderKey("mail", b.id, strconv.Itoa(len(b.out)))
	if p, ok := reportOf(outcome, "", b.id, b.at, key, append(names, b.names...)...); ok {
		b.out = append(b.out, p)
	}
}

// to returns the first address with that prefix among those that the mail came to, empty if there is none.
func (b *bounce) to(prefix string) string {
	for _, name := range b.names {
		if strings.HasPrefix(strings.ToLower(name), prefix) {
			return name
		}
	}
	return ""
}

// fail adds a report of a mail that failed; unclear is what it is where nothing is said of the address.
func (b *bounce) fail(v smtp.Verdict, unclear core.ProviderEvent) {
	n := len(b.out)
	switch v {
	case smtp.VerdictGone:
		b.add(hardBounced)
	case smtp.VerdictUnclear:
		b.add(unclear)
	default:
		b.add(softBounced)
	}
	for i := range b.out[n:] {
		b.out[n+i].Doubtful, b.out[n+i].Sender = v == smtp.VerdictDoubtful, v == smtp.VerdictSender
	}
}

// parts reads a mail: a part for programs, the mail that came back, the first text.
func (b *bounce) parts(m *message.Entity) {
	b.junk = m.Header.Has(junkMark)
	parts := m.MultipartReader()
	if parts == nil {
		b.text = textOf(m, 0)
		return
	}
	for range maxBounceParts {
		p, err := parts.NextPart()
		if p == nil || err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
			break // the mail is cut off here
		}
		switch t, _, _ := mime.ParseMediaType(p.Header.Get("Content-Type")); t {
		case "message/delivery-status", "message/global-delivery-status", "message/feedback-report":
			if b.machine == "" {
				b.machine = t
				b.report, _ = io.ReadAll(io.LimitReader(p.Body, maxBounceHeader))
			}
		case "message/rfc822", "text/rfc822-headers", "message/global", "message/global-headers":
			if h, err := textproto.ReadHeader(bufio.NewReader(io.LimitReader(p.Body, maxBounceHeader))); err == nil {
				b.names = append(b.names, returned(h)...)
				b.junk = b.junk || h.Has(junkMark)
			}
		default:
			if b.text == "" {
				b.text = textOf(p, maxBounceDepth)
			}
		}
	}
}

// junkMark is the field that Outlook.com puts before the mail that a reader has called junk.
const junkMark = "X-HmXmrOriginalRecipient"

// returned returns what may be our names in the header of a mail that came back.
func returned(h textproto.Header) []string {
	names := []string{h.Get("Message-Id"), bareAddress(h.Get("Return-Path"))}
	for uri := range strings.SplitSeq(h.Get("List-Unsubscribe"), ",") {
		if to, ok := strings.CutPrefix(strings.Trim(uri, " \t<>"), "mailto:"); ok {
			names = append(names, to)
		}
	}
	return names
}

// groups reads groups of header fields (RFC 3464 section 2.1, RFC 5965 section 3).
func groups(r io.Reader) (all []textproto.Header) {
	br := bufio.NewReader(r)
	for len(all) < maxBounceGroups {
		for { // more than one empty line may separate them
			c, err := br.Peek(1)
			if err != nil {
				return all
			}
			if c[0] != '\r' && c[0] != '\n' {
				break
			}
			_, _ = br.Discard(1)
		}
		h, err := textproto.ReadHeader(br)
		if h.Len() > 0 {
			all = append(all, h)
		}
		if err != nil {
			return all
		}
	}
	return all
}

// status reads a delivery status: a group about the mail, then one for each recipient.
func (b *bounce) status() {
	for i, g := range groups(bytes.NewReader(b.report)) {
		if i == 0 && !g.Has("Action") {
			continue
		}
		switch firstWordOf(strings.ToLower(g.Get("Action"))) {
		case "failed":
			b.fail(smtp.VerdictOfStatus(firstWordOf(g.Get("Status")), g.Get("Diagnostic-Code")), softBounced)
		case "delivered":
			b.add(delivered)
		}
	}
}

// firstWordOf returns a status code without the comment that may follow it.
func firstWordOf(s string) string {
	if f := strings.Fields(s); len(f) > 0 {
		return f[0]
	}
	return ""
}

// feedback reads a feedback report. The address in it is often withheld; the mail is identified by its names.
func (b *bounce) feedback() {
	all := groups(bytes.NewReader(b.report))
	if len(all) == 0 {
		return
	}
	from := bareAddress(strings.TrimSpace(all[0].Get("Original-Mail-From")))
	switch strings.ToLower(strings.TrimSpace(all[0].Get("Feedback-Type"))) {
	case "abuse", "fraud", "virus":
		b.add(complained, from)
	case "opt-out", "opt-out-list":
		b.add(unsubscribed, from)
	}
}
