package mail

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"newsletterd/mail/internal/octets"
)

// Address is a mailbox: a display name, which may be empty, and an ASCII addr-spec (core.Email).
type Address struct {
	Name  string
	Email string
}

// Message is an email to one person, such as a confirmation or a password reset, not to a list. The same Message always
// results in the same bytes.
type Message struct {
	From, To Address
	// ReplyTo is omitted if its Email is empty.
	ReplyTo Address
	Subject string
	// Text and HTML are the parts, in UTF-8 with any line breaks; HTML may be empty.
	Text, HTML string
	// Date is the time of sending; its zone is kept.
	Date time.Time
	// MessageID is the part of the Message-ID before the at sign. It is also used for the MIME boundary. At least 128
	// of its bits must be unforgeable (Ident.Message). The domain of From follows the at sign.
	MessageID string
}

// ErrMessage is returned by Compose for a message that can't be written safely.
var ErrMessage = errors.New("the message can't be sent")

// Compose appends the message to dst (RFC 5322, MIME) as CRLF lines of 7-bit text, with at most 76 octets in the
// bodies. It is marked Auto-Submitted: auto-generated (RFC 3834), and has no List fields.
func Compose(dst []byte, m *Message) ([]byte, error) {
	if err := m.check(); err != nil {
		return dst, err
	}
	dst = appendAddressHeader(dst, "From", m.From)
	dst = appendAddressHeader(dst, "To", m.To)
	if m.ReplyTo.Email != "" {
		dst = appendAddressHeader(dst, "Reply-To", m.ReplyTo)
	}
	dst = appendTextHeader(dst, "Subject", m.Subject)
	dst = appendDate(dst, m.Date)
	dst = appendHeader(dst, "Message-ID", "<"+m.MessageID+"@"+domainOf(m.From.Email)+">")
	dst = appendHeader(dst, "Auto-Submitted", "auto-generated")
	dst = append(dst, "MIME-Version: 1.0\r\n"...)
	text, html := cleanBody(m.Text), cleanBody(m.HTML)
	if html == "" {
		return appendPart(dst, "plain", text), nil
	}
	dst = appendMultipart(dst, m.MessageID)
	dst = appendBoundary(dst, m.MessageID)
	dst = appendPart(dst, "plain", text)
	dst = appendBoundary(dst, m.MessageID)
	dst = appendPart(dst, "html", html)
	return appendClosing(dst, m.MessageID), nil
}

func (m *Message) check() error {
	for _, a := range [...]string{m.From.Email, m.To.Email} {
		if !octets.Address(a) {
			return fmt.Errorf("%w: address %q", ErrMessage, a)
		}
	}
	if m.ReplyTo.Email != "" && !octets.Address(m.ReplyTo.Email) {
		return fmt.Errorf("%w: reply address %q", ErrMessage, m.ReplyTo.Email)
	}
	if !tokenOnly(m.MessageID) {
		return fmt.Errorf("%w: message id %q", ErrMessage, m.MessageID)
	}
	return nil
}

// tokenOnly reports whether s is valid both as the left part of a Message-ID and in a MIME boundary, which can have at
// most 70 characters, including a prefix of two (RFC 2046 section 5.1.1).
func tokenOnly(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_') {
			return false
		}
	}
	return len(s) >= 16 && len(s) <= 64
}

// domainOf returns the domain of an address.
func domainOf(email string) string { return email[strings.LastIndexByte(email, '@')+1:] }

func appendDate(dst []byte, at time.Time) []byte {
	dst = append(dst, "Date: "...)
	dst = at.AppendFormat(dst, "Mon, 02 Jan 2006 15:04:05 -0700")
	return append(dst, "\r\n"...)
}

func appendMultipart(dst []byte, token string) []byte {
	dst = append(dst, "Content-Type: multipart/alternative;\r\n boundary=\"=_"...)
	dst = append(dst, token...)
	return append(dst, "\"\r\n\r\n"...)
}

// appendBoundary starts a MIME part. The boundary contains "=_", which occurs in no quoted-printable or base64 text.
func appendBoundary(dst []byte, token string) []byte {
	dst = append(dst, "--=_"...)
	dst = append(dst, token...)
	return append(dst, "\r\n"...)
}

func appendClosing(dst []byte, token string) []byte {
	dst = append(dst, "--=_"...)
	dst = append(dst, token...)
	return append(dst, "--\r\n"...)
}

func appendPartHeader(dst []byte, kind string, base64 bool) []byte {
	dst = append(dst, "Content-Type: text/"...)
	dst = append(dst, kind...)
	dst = append(dst, "; charset=utf-8\r\nContent-Transfer-Encoding: "...)
	if base64 {
		return append(dst, "base64\r\n\r\n"...)
	}
	return append(dst, "quoted-printable\r\n\r\n"...)
}

func appendPart(dst []byte, kind, text string) []byte {
	b64 := wantsBase64(text)
	dst = appendPartHeader(dst, kind, b64)
	if b64 {
		return appendBase64(dst, []byte(text))
	}
	dst, col := appendQP(dst, []byte(text), 0)
	if col > 0 {
		dst = append(dst, '\r', '\n')
	}
	return dst
}
