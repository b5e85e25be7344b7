package mail

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
	"testing"

	"newsletterd/core"
)

// TestAttachmentsFollowTheText checks that each file is a complete part of its own after the text, and that the data
// after the text is the same in all emails.
func TestAttachmentsFollowTheText(t *testing.T) {
	files := []core.Attachment{
		{Name: "prices.pdf", Type: core.PDF, Data: bytes.Repeat([]byte("%PDF-1.7\n.\r\n=- \x00\xff"), 5000)},
		{Name: "boot.png", Type: "image/png", Data: []byte(".")},
		{Name: "Préisliste für " + strings.Repeat("größere ", 8) + "Füße.pdf", Type: core.PDF, Data: []byte("%PDF-")},
		{Name: `Prices, ab = 5 (new).pdf`, Type: core.PDF, Data: []byte("%PDF-")},
	}
	for kind, html := range map[string]string{"multipart/alternative": testSpec().HTML, "text/plain": ""} {
		spec := testSpec()
		spec.HTML, spec.Attachments = html, NewAttachments(files)
		if html == "" {
			spec.Text = "Leave: {{ unsubscribe_url }}\n\n\n"
		}
		b := mustBulk(t, spec)
		data, err := b.Append(nil, testRecipient())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasSuffix(data, []byte("\r\n")) || bytes.HasSuffix(data, []byte("\r\n\r\n")) {
			t.Errorf("%s: the data ends %q", kind, data[len(data)-20:])
		}
		for line := range strings.Lines(string(b.Tail())) {
			if line[0] == '.' || len(line) > 78 && !strings.Contains(line, "name=") ||
				!strings.HasSuffix(line, "\r\n") || strings.HasSuffix(line, " \r\n") ||
				strings.Contains(line, "  ") || strings.Contains(line, "\t") {
				t.Errorf("%s: the line %q", kind, line)
			}
		}
		m, err := mail.ReadMessage(io.MultiReader(bytes.NewReader(data), bytes.NewReader(b.Tail())))
		if err != nil {
			t.Fatal(err)
		}
		outer, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
		if err != nil || outer != "multipart/mixed" || m.Header.Get("MIME-Version") != "1.0" {
			t.Fatalf("%s: %s %v", kind, outer, err)
		}
		parts := multipart.NewReader(m.Body, params["boundary"])
		text, err := parts.NextRawPart()
		if err != nil {
			t.Fatal(err)
		}
		inner, _, _ := mime.ParseMediaType(text.Header.Get("Content-Type"))
		body, err := io.ReadAll(text)
		if inner != kind || err != nil || !strings.Contains(string(body), "AbCdEf0123456789") {
			t.Errorf("%s: %s %v", kind, inner, err)
		}
		for _, f := range files {
			p, err := parts.NextRawPart()
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, p))
			typ, _, _ := mime.ParseMediaType(p.Header.Get("Content-Type"))
			if err != nil || typ != f.Type || p.FileName() != f.Name || !bytes.Equal(got, f.Data) {
				t.Errorf("%s: %s %s, %d bytes, %v", kind, typ, p.FileName(), len(got), err)
			}
		}
		if _, err := parts.NextRawPart(); err != io.EOF {
			t.Errorf("%s: after the last part: %v", kind, err)
		}
	}
	if b := mustBulk(t, testSpec()); b.Tail() != nil || NewAttachments(nil) != nil {
		t.Error("no files are none")
	}
}
