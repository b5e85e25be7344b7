package subscribercsv

import (
	"bufio"
	"bytes"
	"io"

	"golang.org/x/text/encoding/unicode"

	"newsletterd/core"
)

// peeked is the number of bytes read to detect the format of a file.
const peeked = 64 << 10

// Text returns the text of a file as UTF-8, without a byte order mark and with LF at line ends. It converts UTF-16. It
// doesn't change bytes of a one-byte encoding, because only the whole file shows which encoding it is. If the file is a
// workbook or an archive, reading it returns an error of kind core.MediaType.
func Text(r io.Reader) io.Reader { return &text{raw: r} }

type text struct {
	raw io.Reader
	r   io.Reader // nil until the first read
}

func (t *text) Read(p []byte) (int, error) {
	if t.r == nil {
		r, err := decoded(t.raw)
		if err != nil {
			return 0, err
		}
		t.r = r
	}
	return t.r.Read(p)
}

func decoded(raw io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(raw, peeked)
	head, err := b.Peek(4096)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if err := refuse(head); err != nil {
		return nil, err
	}
	if order, ok := utf16Order(head); ok {
		// The decoder writes U+FFFD for bytes that are not valid UTF-16.
		b = bufio.NewReaderSize(unicode.UTF16(order, unicode.UseBOM).NewDecoder().Reader(b), peeked)
	} else if bytes.HasPrefix(head, []byte(ByteOrderMark)) {
		_, _ = b.Discard(len(ByteOrderMark))
	}
	if head, err = b.Peek(peeked); err != nil && err != io.EOF {
		return nil, err
	}
	if endsInCR(head) {
		return &crLines{r: b}, nil
	}
	return b, nil
}

// refuse returns an error if the first bytes of a file show that it is not text.
func refuse(head []byte) error {
	const saveAs = " Open it in the spreadsheet, save it as CSV (UTF-8), and import that file."
	has := func(s string) bool { return bytes.Contains(head, []byte(s)) }
	begins := func(s string) bool { return bytes.HasPrefix(head, []byte(s)) }
	what := ""
	switch {
	case begins("PK\x03\x04") && (has("[Content_Types].xml") || has("xl/")):
		what = "This is an Excel workbook (.xlsx)." + saveAs
	case begins("PK\x03\x04") && has("opendocument.spreadsheet"):
		what = "This is an OpenDocument spreadsheet (.ods)." + saveAs
	case begins("PK\x03\x04"), begins("PK\x05\x06"):
		what = "This zip archive has no CSV file with a column of email addresses, and no posts. If it has another " +
			"file with addresses, unpack the archive and import that file."
	case begins("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
		what = "This is an Excel workbook (.xls)." + saveAs
	case begins("\x1f\x8b"):
		what = "This is a compressed file (gzip). Unpack it and import the CSV file inside."
	case begins("%PDF-"):
		what = "This is a PDF file. Export the subscribers as CSV and import that file."
	case bytes.HasPrefix(bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n"), []byte("<")):
		what = "This is a web page or an XML file." + saveAs
	default:
		return nil
	}
	return &core.Error{Kind: core.MediaType, Code: "unsupported_media_type", Message: what}
}

// utf16Order reports whether a file is UTF-16, and returns its byte order. Such a file begins with a byte order mark,
// or most even or most odd bytes at its beginning are NUL, as in Latin text.
func utf16Order(head []byte) (order unicode.Endianness, ok bool) {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return unicode.LittleEndian, true
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return unicode.BigEndian, true
	}
	head = head[:min(len(head), 1024)&^1]
	var nul [2]int
	for i, b := range head {
		if b == 0 {
			nul[i&1]++
		}
	}
	pairs := len(head) / 2
	switch {
	case pairs >= 4 && nul[0] == 0 && 4*nul[1] >= 3*pairs:
		return unicode.LittleEndian, true
	case pairs >= 4 && nul[1] == 0 && 4*nul[0] >= 3*pairs:
		return unicode.BigEndian, true
	}
	return unicode.LittleEndian, false
}

// endsInCR reports whether the first line ends in a CR without LF, as in files from Excel for Mac. The cells of such a
// file can contain LF.
func endsInCR(head []byte) bool {
	quoted := false
	for i, b := range head {
		switch {
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '\n':
			return false
		case b == '\r':
			return i+1 == len(head) || head[i+1] != '\n'
		}
	}
	return false
}

// crLines is a reader that replaces CR, CR LF and CR CR LF with LF.
type crLines struct {
	r  io.Reader
	cr int // number of CRs read that an LF may follow
	in []byte
}

func (c *crLines) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	for n == 0 && err == nil {
		if len(c.in) == 0 {
			buf := make([]byte, 4096)
			var m int
			if m, err = c.r.Read(buf); m == 0 && err == nil {
				continue
			}
			c.in = buf[:m]
		}
		n = c.take(p, err == io.EOF)
		if err == io.EOF && (len(c.in) > 0 || c.cr > 0) {
			return n, nil
		}
	}
	return n, err
}

// take copies as much as fits into p. last means that no more text follows.
func (c *crLines) take(p []byte, last bool) (n int) {
	for n < len(p) {
		switch {
		case len(c.in) == 0 && !(last && c.cr > 0):
			return n
		case len(c.in) > 0 && c.in[0] == '\r':
			c.cr++
			c.in = c.in[1:]
			continue
		case len(c.in) > 0 && c.in[0] == '\n':
			c.cr = 0
			p[n], c.in = '\n', c.in[1:]
		case c.cr > 0:
			c.cr--
			p[n] = '\n'
		default:
			p[n], c.in = c.in[0], c.in[1:]
		}
		n++
	}
	return n
}
