package dkim

import (
	"bytes"
	"encoding/binary"

	"newsletterd/mail/internal/octets"
)

// headerFields splits a header into fields and appends them to fields. Each includes its continuation lines.
func headerFields(fields [][]byte, header []byte) [][]byte {
	for start, i := 0, 0; i < len(header); {
		n := bytes.IndexByte(header[i:], '\n')
		if n < 0 {
			n = len(header) - i - 1
		}
		i += n + 1
		if i == len(header) || header[i] != ' ' && header[i] != '\t' {
			fields = append(fields, header[start:i])
			start = i
		}
	}
	return fields
}

// appendRelaxedField appends a header field in relaxed form (RFC 6376 section 3.4.2). The name is in lower case, and
// the value on one line. Each run of white space is reduced to one space, with none at the ends.
func appendRelaxedField(dst, field []byte) []byte {
	colon := bytes.IndexByte(field, ':')
	for _, c := range bytes.TrimRight(field[:colon], " \t") {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	dst = append(dst, ':')
	blank, begun := false, false
	for value := field[colon+1:]; len(value) > 0; {
		n := 0 // bytes before the next space
		for n+8 <= len(value) && octets.Graphic(octets.Eight(value[n:]), '!') {
			n += 8
		}
		for n < len(value) && value[n] != ' ' && value[n] != '\t' && value[n] != '\r' && value[n] != '\n' {
			n++
		}
		if n == 0 {
			blank, value = true, value[1:]
			continue
		}
		if blank && begun {
			dst = append(dst, ' ')
		}
		dst = append(dst, value[:n]...)
		blank, begun, value = false, true, value[n:]
	}
	return append(dst, '\r', '\n')
}

// relaxed reports whether body, whose lines end with CRLF, is already in relaxed form. Most newsletters are. The result
// may be false for such a body, but is never true for any other.
func relaxed(body []byte) bool {
	const blanks, returns = 0x2020202020202020, 0x0d0d0d0d0d0d0d0d
	if len(body) <= 2 || !bytes.HasSuffix(body, []byte("\r\n")) || bytes.HasSuffix(body, []byte("\r\n\r\n")) ||
		bytes.IndexByte(body, '\t') >= 0 {
		return false
	}
	for ; len(body) > 8; body = body[8:] {
		here, next := binary.LittleEndian.Uint64(body), binary.LittleEndian.Uint64(body[1:])
		if zeros(here^blanks)&(zeros(next^blanks)|zeros(next^returns)) != 0 {
			return false
		}
	}
	return !bytes.Contains(body, []byte("  ")) && !bytes.Contains(body, []byte(" \r"))
}

// zeros sets the top bit of each zero byte in word, and possibly of a few bytes above a zero byte.
func zeros(word uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	return (word - ones) &^ word & tops
}

// appendRelaxedBody appends a body in relaxed form (RFC 6376 section 3.4.4). Each run of white space is reduced to one
// space, with none at line ends. Empty lines at the end are removed.
func appendRelaxedBody(dst, body []byte) []byte {
	start := len(dst)
	end := start // end of the last line that is not empty
	for len(body) > 0 {
		i := bytes.IndexByte(body, '\n')
		line := body
		if i >= 0 {
			line, body = body[:i], body[i+1:]
		} else {
			body = nil
		}
		line = bytes.TrimRight(line, " \t\r")
		if bytes.IndexByte(line, '\t') >= 0 || bytes.Contains(line, []byte("  ")) { // rare: composed messages have none
			for {
				k := bytes.IndexAny(line, " \t")
				if k < 0 {
					break
				}
				dst = append(append(dst, line[:k]...), ' ')
				line = bytes.TrimLeft(line[k:], " \t")
			}
		}
		dst = append(dst, line...)
		if n := len(dst); n > start && dst[n-1] != '\n' {
			end = n + 2
		}
		dst = append(dst, '\r', '\n')
	}
	return dst[:end]
}
