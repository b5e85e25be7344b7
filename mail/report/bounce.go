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

// MaxBounce is the maximum number of bytes of a bounce message to read. Reports come before the returned message.
const MaxBounce = 1 << 20

// maxBounceAge is the maximum age of a bounce message according to its Date field.
const maxBounceAge = 30 * 24 * time.Hour

const (
	maxBounceHeader = 64 << 10
	maxBounceParts  = 8  // parts of one message
	maxBounceGroups = 16 // groups of one delivery status: each email has only one recipient
)

// ParseBounce returns the reports in a message that was sent to the envelope recipient rcpt (empty if unknown). It
// recognizes delivery status notifications (RFC 3464), feedback reports (RFC 5965, or Outlook.com's form), and
// nonstandard bounces. Any message to a List-Unsubscribe address is a request to unsubscribe. The reports contain Names
// instead of an address, because only identifiers that newsletterd created are trusted. For any other message, such as
// a personal or automatic reply, it returns nothing.
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
	case b.junk: // spam complaint from Outlook.com (JMRP)
		b.add(complained)
	case b.to("u+") != "": // sent by an email client, perhaps without its user's knowledge (RFC 2369 section 3.2)
		b.at = now // with the sender's clock, the request could appear older than the subscription
		b.add(unsubscribed, b.to("u+"))
	case b.to("b+") == "" || !cameBack(&m.Header, b.text): // not sent to our return address, so it may be any message
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

// bounce is the state of the parser for a bounce message.
type bounce struct {
	names []string // identifiers of the original message
	at    core.Instant
	id    string
	out   []core.ProviderReport

	machine string // media type of the machine-readable part; empty: none
	report  []byte // machine-readable part
	text    string // start of the first human-readable part
	junk    bool   // the returned message has Outlook.com's complaint mark
}

// addressees returns the addresses that a message was delivered to, according to its header. One of them may be a
// return address of newsletterd.
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

// dateOf returns a message's date, or now if the date is implausible.
func dateOf(h *message.Header, now core.Instant) core.Instant {
	t, err := netmail.ParseDate(h.Get("Date"))
	if err != nil || !within(core.At(t), now, maxBounceAge) {
		return now
	}
	return core.At(t)
}

// bounceID returns an identifier for a bounce message, so that the message counts only once if it is received again.
func bounceID(h *message.Header, data []byte) string {
	if id := strings.TrimSpace(h.Get("Message-Id")); id != "" && len(id) <= 998 {
		return id
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// add adds a report with an outcome for the email that names identify.
func (b *bounce) add(outcome core.ProviderEvent, names ...string) {
	key := core.ProviderKey("mail", b.id, strconv.Itoa(len(b.out)))
	if p, ok := reportOf(outcome, "", b.id, b.at, key, append(names, b.names...)...); ok {
		b.out = append(b.out, p)
	}
}

// to returns the message's first recipient address that starts with prefix, or an empty string.
func (b *bounce) to(prefix string) string {
	for _, name := range b.names {
		if strings.HasPrefix(strings.ToLower(name), prefix) {
			return name
		}
	}
	return ""
}

// fail adds a report of a failed email. The verdict determines the event; if it doesn't concern the address, the event
// is unclear.
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

// parts parses the parts of a message: the machine-readable part, the returned message, and the first text.
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
			break // the message is truncated here
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

// junkMark is the field that Outlook.com adds to a message that a user has marked as junk.
const junkMark = "X-HmXmrOriginalRecipient"

// returned returns the values of those header fields of a returned message that may contain identifiers of newsletterd.
func returned(h textproto.Header) []string {
	names := []string{h.Get("Message-Id"), bareAddress(h.Get("Return-Path"))}
	for uri := range strings.SplitSeq(h.Get("List-Unsubscribe"), ",") {
		if to, ok := strings.CutPrefix(strings.Trim(uri, " \t<>"), "mailto:"); ok {
			names = append(names, to)
		}
	}
	return names
}

// groups parses groups of header fields (RFC 3464 section 2.1, RFC 5965 section 3).
func groups(r io.Reader) (all []textproto.Header) {
	br := bufio.NewReader(r)
	for len(all) < maxBounceGroups {
		for { // several empty lines may separate them
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

// status parses a delivery status: a group for the message, then one for each recipient.
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

// firstWordOf returns a status code without the comment that may follow.
func firstWordOf(s string) string {
	if f := strings.Fields(s); len(f) > 0 {
		return f[0]
	}
	return ""
}

// feedback parses a feedback report. Such reports often withhold the address, so identifiers in the returned message
// identify the email.
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
