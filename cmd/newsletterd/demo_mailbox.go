package main

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

// mailbox is the folder of the mail server.
type mailbox struct {
	dir  string
	read map[string]demoMail // by file name: files don't change
}

// demoMail is a mail as its reader sees it.
type demoMail struct {
	to, subject, text string
	header            mail.Header
}

// all reads every mail that has arrived.
func (b *mailbox) all() ([]demoMail, error) {
	files, err := filepath.Glob(filepath.Join(b.dir, "*.eml"))
	if err != nil {
		return nil, err
	}
	if b.read == nil {
		b.read = map[string]demoMail{}
	}
	mails := make([]demoMail, 0, len(files))
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

// of lists the mails to one address, in the order of their arrival.
func (b *mailbox) of(to string) ([]demoMail, error) {
	all, err := b.all()
	var mine []demoMail
	for _, m := range all {
		if m.to == to {
			mine = append(mine, m)
		}
	}
	return mine, err
}

func readMail(name string) (m demoMail, err error) {
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

// plainPart is the text/plain part of a message.
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

// link is the first address in the text that begins so.
func (m demoMail) link(prefix string) string {
	_, rest, found := strings.Cut(m.text, prefix)
	if !found {
		return ""
	}
	if end := strings.IndexAny(rest, " \t\n>)\""); end >= 0 {
		rest = rest[:end]
	}
	return prefix + rest
}

// oneClick is the address of RFC 8058; empty where the mail lacks a part of it.
func (m demoMail) oneClick() string {
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
