package subscribercsv

import (
	"bytes"
	"io"
)

// unescape converts quotes escaped by a backslash, as databases and PHP write them, to the doubled quotes of CSV. A \"
// that can't end a cell is always an escaped quote. A \" that can end a cell is an escaped quote only if the file has
// other escaped quotes.
type unescape struct {
	r      io.Reader
	comma  byte
	seen   bool // whether the file contains escaped quotes
	quoted bool // whether the text read so far ends inside quotes
	in     []byte
	buf    []byte
	out    []byte
	err    error
}

func newUnescape(r io.Reader, comma rune, seen bool) *unescape {
	return &unescape{r: r, comma: byte(comma), seen: seen, buf: make([]byte, peeked)}
}

func (u *unescape) Read(p []byte) (int, error) {
	for len(u.out) == 0 {
		if len(u.in) == 0 && u.err != nil {
			return 0, u.err
		}
		rest := copy(u.buf, u.in)
		n := 0
		if u.err == nil {
			n, u.err = u.r.Read(u.buf[rest:])
		}
		u.in = u.buf[:rest+n]
		u.step()
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

// step moves text from u.in to u.out. To decide about a backslash, it needs the two bytes after it.
func (u *unescape) step() {
	at := bytes.IndexByte(u.in, '\\')
	if at < 0 {
		at = len(u.in)
	}
	if at > 0 {
		u.quoted = u.quoted != (bytes.Count(u.in[:at], []byte{'"'})&1 == 1)
		u.out, u.in = u.in[:at], u.in[at:]
		return
	}
	if len(u.in) == 0 || len(u.in) < 3 && u.err == nil {
		return
	}
	take := 1
	switch {
	case !u.quoted || len(u.in) == 1:
		u.out = u.in[:1]
	case u.in[1] == '"' && (u.seen || u.inside()):
		u.seen, take = true, 2
		u.out = []byte(`""`)
	case u.in[1] == '\\' && u.seen:
		take = 2
		u.out = u.in[:1]
	case u.in[1] == '\\': // two backslashes, unchanged
		take = 2
		u.out = u.in[:2]
	default:
		u.out = u.in[:1]
	}
	u.in = u.in[take:]
}

// inside reports whether the quote after a backslash neither ends a cell nor is the first of two quotes.
func (u *unescape) inside() bool {
	if len(u.in) < 3 {
		return false
	}
	next := u.in[2]
	return next != '"' && next != u.comma && next != '\n' && next != '\r'
}
