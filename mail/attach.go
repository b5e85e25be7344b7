package mail

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"strings"

	"newsletterd/core"
)

// Attachments holds the encoded files of a message. All messages of a job share them, so they are encoded only once.
// Attachments is safe for concurrent use.
type Attachments struct {
	boundary string
	tail     []byte
}

// NewAttachments encodes files. It returns nil if there are none. Names and types must satisfy the rules of
// core.Attachment.
func NewAttachments(files []core.Attachment) *Attachments {
	if len(files) == 0 {
		return nil
	}
	sum, size := sha256.New(), 0
	for i := range files {
		sum.Write(files[i].Data)
		size += len(files[i].Data)
	}
	// Neither base64 nor quoted-printable contains "=-", so the boundary occurs in no part. The boundaries of inner
	// parts start with "=_".
	a := &Attachments{
		boundary: "=-" + hex.EncodeToString(sum.Sum(nil)[:16]),
		tail:     make([]byte, 0, size/3*4+size/50+512*len(files)),
	}
	for i := range files {
		f := &files[i]
		plain, whole := attachmentNames(f)
		a.tail = append(a.tail, "Content-Type: "+f.Type+";\r\n name=\""+plain+"\"\r\n"+
			"Content-Transfer-Encoding: base64\r\n"+
			"Content-Disposition: attachment;\r\n filename=\""+plain+"\""+whole+"\r\n\r\n"...)
		a.tail = appendBase64Octets(a.tail, f.Data)
		a.tail = append(a.tail, "--"+a.boundary...)
		if i == len(files)-1 {
			a.tail = append(a.tail, "--"...)
		}
		a.tail = append(a.tail, "\r\n"...)
	}
	return a
}

// attachmentNames returns a file's name in ASCII. If the full name isn't ASCII, whole contains it as an extended
// parameter (RFC 2231) on separate lines. Email clients that support extended parameters prefer them.
func attachmentNames(f *core.Attachment) (plain, whole string) {
	const line = 54
	parameter := mime.FormatMediaType("x", map[string]string{"filename": f.Name})
	_, encoded, extended := strings.Cut(parameter, "filename*=utf-8''")
	if !extended {
		return f.Name, ""
	}
	var b strings.Builder
	for i := 0; encoded != ""; i++ {
		n := min(len(encoded), line)
		if cut := strings.LastIndexByte(encoded[:n], '%'); n < len(encoded) && cut > n-3 {
			n = cut
		}
		charset := ""
		if i == 0 {
			charset = "UTF-8''"
		}
		fmt.Fprintf(&b, ";\r\n filename*%d*=%s%s", i, charset, encoded[:n])
		encoded = encoded[n:]
	}
	return core.MediaFileName(f.Name, f.Type), b.String()
}

// Tail returns the data to send after the result of Append, or nil if there is none. It consists of whole lines in
// DKIM's relaxed form, and no line starts with a dot. The caller must not modify it.
func (b *Bulk) Tail() []byte {
	if b.spec.Attachments == nil {
		return nil
	}
	return b.spec.Attachments.tail
}

// appendMixed appends the start of a message with attachments.
func (a *Attachments) appendMixed(dst []byte) []byte {
	dst = append(dst, "Content-Type: multipart/mixed;\r\n boundary=\""...)
	dst = append(dst, a.boundary...)
	dst = append(dst, "\"\r\n\r\n"...)
	return a.appendBoundary(dst)
}

func (a *Attachments) appendBoundary(dst []byte) []byte {
	dst = append(dst, "--"...)
	dst = append(dst, a.boundary...)
	return append(dst, "\r\n"...)
}
