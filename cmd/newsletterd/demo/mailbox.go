package demo

import (
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
)

// mailbox reads the folder to which the mail server saves emails.
type mailbox struct {
	dir  string
	read map[string]message // by file name; files don't change, so each is read once
}

// message is an email as its recipient sees it.
type message struct {
	to, subject, text string
	header            mail.Header
}

// all returns every email that has arrived.
func (b *mailbox) all() ([]message, error) {
	files, err := filepath.Glob(filepath.Join(b.dir, "*.eml"))
	if err != nil {
		return nil, err
	}
	if b.read == nil {
		b.read = map[string]message{}
	}
	mails := make([]message, 0, len(files))
	for _, name := range files {
		m, known := b.read[name]
		if !known {
			if m, err = readMail(name); errors.Is(err, fs.ErrNotExist) {
				continue
			} else if err != nil {
				return nil, err
			}
			b.read[name] = m
		}
		mails = append(mails, m)
	}
	return mails, nil
}

// of returns the emails to one address, in order of arrival.
func (b *mailbox) of(to string) ([]message, error) {
	all, err := b.all()
	var mine []message
	for _, m := range all {
		if m.to == to {
			mine = append(mine, m)
		}
	}
	return mine, err
}

func readMail(name string) (m message, err error) {
	f, err := os.Open(name)
	if err != nil {
		return m, err
	}
	defer f.Close()
	msg, err := mail.ReadMessage(f)
	if err != nil {
		return m, err
	}
	m.header = msg.Header
	m.to = strings.Trim(msg.Header.Get("Delivered-To"), "<>")
	if m.subject, err = new(mime.WordDecoder).DecodeHeader(msg.Header.Get("Subject")); err != nil {
		return m, err
	}
	m.text, err = plainPart(msg.Header.Get("Content-Type"), msg.Header.Get("Content-Transfer-Encoding"), msg.Body)
	return m, err
}

// plainPart returns the text/plain part of a message.
func plainPart(contentType, encoding string, body io.Reader) (string, error) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(kind, "multipart/") {
		parts := multipart.NewReader(body, params["boundary"])
		for {
			part, err := parts.NextRawPart()
			if errors.Is(err, io.EOF) {
				return "", nil
			}
			if err != nil {
				return "", err
			}
			text, err := plainPart(part.Header.Get("Content-Type"), part.Header.Get("Content-Transfer-Encoding"), part)
			if err != nil || text != "" {
				return text, err
			}
		}
	}
	if kind != "text/plain" {
		return "", nil
	}
	switch strings.ToLower(encoding) {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	b, err := io.ReadAll(body)
	return strings.ReplaceAll(string(b), "\r\n", "\n"), err
}

// link returns the first URL in the text that begins with prefix, or an empty string.
func (m message) link(prefix string) string {
	_, rest, found := strings.Cut(m.text, prefix)
	if !found {
		return ""
	}
	if end := strings.IndexAny(rest, " \t\n>)\""); end >= 0 {
		rest = rest[:end]
	}
	return prefix + rest
}

// oneClick returns the URL for one-click unsubscribing (RFC 8058), or an empty string if the email doesn't fully
// support it.
func (m message) oneClick() string {
	if m.header.Get("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" {
		return ""
	}
	for part := range strings.SplitSeq(m.header.Get("List-Unsubscribe"), ",") {
		if link := strings.Trim(strings.TrimSpace(part), "<>"); strings.HasPrefix(link, "http") {
			return link
		}
	}
	return ""
}
