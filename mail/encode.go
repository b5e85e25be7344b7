package mail

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"

	"newsletterd/mail/internal/octets"
)

// qpMax is the maximum length of a quoted-printable line without its soft break (RFC 2045 section 6.7: 76 with it).
const qpMax = 75

// qpPlain marks the bytes that need no encoding anywhere in a line.
var qpPlain = func() (t [256]bool) {
	for c := '!'; c <= '~'; c++ {
		t[c] = c != '='
	}
	return t
}()

// appendQP appends s in quoted-printable. col is the column at the end of dst; appendQP also returns the new one. Line
// breaks in s (LF or CRLF) become CRLF. Spaces before a line break and at the end of s are encoded, so that any text
// may follow s. A dot at the start of a line is also encoded, which avoids dot stuffing.
func appendQP(dst []byte, s []byte, col int) ([]byte, int) {
	for i := 0; i < len(s); {
		if n := plainRun(s[i:], qpMax-col); n > 0 && !(col == 0 && s[i] == '.') {
			dst = append(dst, s[i:i+n]...)
			i, col = i+n, col+n
			continue
		}
		c := s[i]
		end := lineEnd(s[i:])
		if end > 0 {
			dst = append(dst, '\r', '\n')
			i, col = i+end, 0
			continue
		}
		blank := (c == ' ' || c == '\t') && i+1 < len(s) && lineEnd(s[i+1:]) == 0
		need := 3
		if blank || qpPlain[c] && !(col == 0 && c == '.') {
			need = 1
		}
		if col+need > qpMax {
			dst = append(dst, '=', '\r', '\n')
			col = 0
			continue // a dot can now start the line
		}
		if need == 1 {
			dst = append(dst, c)
		} else {
			dst = append(dst, '=', upperHex[c>>4], upperHex[c&15])
		}
		i, col = i+1, col+need
	}
	return dst, col
}

// plainRun returns how many bytes at the start of s need no encoding, up to a maximum of room.
func plainRun(s []byte, room int) int {
	end := min(len(s), max(room, 0))
	n := 0
	for ; n+8 <= end; n += 8 {
		if w := octets.Eight(s[n:]); !octets.Graphic(w, ' ') || !octets.Without(w, '=') {
			break
		}
	}
	for n < end && (qpPlain[s[n]] || s[n] == ' ') {
		n++
	}
	if n > 0 && s[n-1] == ' ' && (n == len(s) || lineEnd(s[n:]) > 0) {
		n-- // a space before a line break
	}
	return n
}

// lineEnd returns the length of the line break at the start of s: 2 for CRLF, 1 for LF, or else 0.
func lineEnd(s []byte) int {
	switch {
	case s[0] == '\n':
		return 1
	case s[0] == '\r' && len(s) > 1 && s[1] == '\n':
		return 2
	}
	return 0
}

// softBreak ends an unfinished quoted-printable line with a soft break, so that the next text starts at column 0.
func softBreak(dst []byte, col int) []byte {
	if col > 0 {
		dst = append(dst, '=', '\r', '\n')
	}
	return dst
}

// base64Line is the number of bytes that fit into a base64 line of 76 characters (RFC 2045 section 6.8).
const base64Line = 57

// appendBase64 appends s as base64 lines that end with CRLF. Line breaks in s become CRLF before encoding.
func appendBase64(dst, s []byte) []byte {
	if bareLF(s) {
		s = crlf(s)
	}
	return appendBase64Octets(dst, s)
}

// appendBase64Octets is like appendBase64, but doesn't change line breaks in s.
func appendBase64Octets(dst, s []byte) []byte {
	for len(s) > 0 {
		n := min(len(s), base64Line)
		dst = base64.StdEncoding.AppendEncode(dst, s[:n])
		dst = append(dst, '\r', '\n')
		s = s[n:]
	}
	return dst
}

// bareLF reports whether s has an LF without a CR.
func bareLF(s []byte) bool {
	for i := 0; ; {
		n := bytes.IndexByte(s[i:], '\n')
		if n < 0 {
			return false
		}
		if i += n; i == 0 || s[i-1] != '\r' {
			return true
		}
		i++
	}
}

// crlf returns a copy of s in which every line break is CRLF.
func crlf(s []byte) []byte {
	out := make([]byte, 0, len(s)+len(s)/32+2)
	for i, c := range s {
		if c == '\n' && (i == 0 || s[i-1] != '\r') {
			out = append(out, '\r')
		}
		out = append(out, c)
	}
	return out
}

// wantsBase64 reports whether a part is shorter in base64 than in quoted-printable.
func wantsBase64(text string) bool { return manyHigh(countHigh(text)) }

// manyHigh reports whether more than a sixth of size bytes are non-ASCII, so that base64 is shorter than
// quoted-printable.
func manyHigh(high, size int) bool { return high*6 > size }

// cleanBody removes the control characters that a text part must not contain: all except tabs and line breaks. It turns
// lone CRs into line breaks, and invalid UTF-8 into U+FFFD.
func cleanBody(s string) string {
	if octets.Plain(s) {
		return s
	}
	dirty := !utf8.ValidString(s)
	for i := 0; i < len(s) && !dirty; i++ {
		for i+8 < len(s) && octets.Graphic(octets.Eight(s[i:]), ' ') {
			i += 8
		}
		dirty = s[i] < 0x20 && s[i] != '\n' && s[i] != '\t' || s[i] == 0x7f
	}
	if !dirty {
		return s
	}
	out := make([]byte, 0, len(s))
	for i, r := range s {
		switch {
		case r == '\r':
			if i+1 >= len(s) || s[i+1] != '\n' {
				out = append(out, '\n')
			}
		case r < 0x20 && r != '\n' && r != '\t' || r == 0x7f:
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return string(out)
}
