package mail

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"newsletterd/mail/internal/octets"
)

const (
	softLine = 78  // RFC 5322 section 2.1.1: recommended maximum length of a line
	hardLine = 998 // absolute maximum length of a line
	wordMax  = 75  // RFC 2047 section 2: maximum length of an encoded word
)

// appendHeader appends a header field with a structured ASCII value that must not be folded, such as an address or URI.
// A value that doesn't fit next to the name goes on the next line.
func appendHeader(dst []byte, name, value string) []byte {
	dst = append(dst, name...)
	dst = append(dst, ':')
	if len(name)+2+len(value) > softLine && len(name) > 0 {
		dst = append(dst, "\r\n"...)
	}
	dst = append(dst, ' ')
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

// appendTextHeader appends an unstructured field, such as Subject. ASCII text is folded at spaces, other text is
// written as encoded words (RFC 2047).
func appendTextHeader(dst []byte, name, text string) []byte {
	text = octets.CleanLine(text)
	dst = append(dst, name...)
	dst = append(dst, ':')
	if text == "" {
		return append(dst, " \r\n"...)
	}
	dst = append(dst, ' ')
	col := len(name) + 2
	if foldable(text) {
		dst, _ = appendFolded(dst, text, col)
	} else {
		dst, _ = appendWords(dst, text, col, false)
	}
	return append(dst, "\r\n"...)
}

// foldable reports whether text can be folded without encoding: it is ASCII, and has no white space that folding would
// lose, nothing that looks like an encoded word, and no run that is too long for a line.
func foldable(text string) bool {
	if !octets.Plain(text) || text[0] == ' ' || text[len(text)-1] == ' ' ||
		strings.Contains(text, "=?") || strings.Contains(text, "  ") {
		return false
	}
	run := 0
	for i := 0; i < len(text); i++ {
		if run++; text[i] == ' ' {
			run = 0
		}
		if run > softLine-4 {
			return false
		}
	}
	return true
}

// appendFolded appends text, folded at the last space that keeps each line within softLine. It returns the new
// column.
func appendFolded(dst []byte, text string, col int) ([]byte, int) {
	for word := range strings.SplitSeq(text, " ") {
		first := col == 0 || dst[len(dst)-1] == ' '
		switch {
		case !first && col+1+len(word) > softLine:
			dst = append(dst, "\r\n "...)
			col = 1
		case !first:
			dst = append(dst, ' ')
			col++
		case col > 1 && col+len(word) > softLine:
			dst = append(dst[:len(dst)-1], "\r\n "...)
			col = 1
		}
		dst = append(dst, word...)
		col += len(word)
	}
	return dst, col
}

// appendWords appends text as encoded words on lines within softLine. Each word has whole characters and at most 75
// bytes. It uses Q if that is not longer than B. In a phrase, Q has a smaller set of characters (RFC 2047 section 5
// (3)).
func appendWords(dst []byte, text string, col int, phrase bool) ([]byte, int) {
	const open, over = len("=?utf-8?q?"), len("=?utf-8?q??=")
	q := wordsQ(text, phrase)
	for first := true; len(text) > 0; first = false {
		if !first {
			dst = append(dst, "\r\n "...)
			col = 1
		} else if col+over+12 > softLine {
			dst = append(dst[:len(dst)-1], "\r\n "...) // the caller wrote a space after the colon
			col = 1
		}
		room := min(wordMax, softLine-col) - over
		n := wordFit(text, room, q, phrase)
		if q {
			dst = append(dst, "=?utf-8?q?"...)
			dst = appendQ(dst, text[:n], phrase)
			col += open + qLen(text[:n], phrase)
		} else {
			dst = append(dst, "=?utf-8?b?"...)
			dst = base64.StdEncoding.AppendEncode(dst, []byte(text[:n]))
			col += open + base64.StdEncoding.EncodedLen(n)
		}
		dst = append(dst, "?="...)
		col += 2
		text = text[n:]
	}
	return dst, col
}

// wordFit returns how many bytes of text fit into room after encoding. They form whole characters, at least one.
func wordFit(text string, room int, q, phrase bool) int {
	n, used := 0, 0
	for n < len(text) {
		_, size := utf8.DecodeRuneInString(text[n:])
		if q {
			used += qLen(text[n:n+size], phrase)
		} else {
			used = base64.StdEncoding.EncodedLen(n + size)
		}
		if used > room && n > 0 {
			break
		}
		n += size
	}
	return n
}

// wordsQ reports whether encoded words in Q are at most as long as in B.
func wordsQ(text string, phrase bool) bool {
	return qLen(text, phrase) <= base64.StdEncoding.EncodedLen(len(text))
}

func qLen(s string, phrase bool) int {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] == ' ' || qSafe(s[i], phrase) {
			n++
		} else {
			n += 3
		}
	}
	return n
}

const upperHex = "0123456789ABCDEF"

func appendQ(dst []byte, s string, phrase bool) []byte {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == ' ':
			dst = append(dst, '_')
		case qSafe(c, phrase):
			dst = append(dst, c)
		default:
			dst = append(dst, '=', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}

func qSafe(c byte, phrase bool) bool {
	if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '!' || c == '*' || c == '+' || c == '-' || c == '/' {
		return true
	}
	return !phrase && c > ' ' && c < 0x7f && c != '=' && c != '?' && c != '_'
}

// appendAddressHeader appends a header field with one mailbox: a display name, if any, and an addr-spec.
func appendAddressHeader(dst []byte, name string, a Address) []byte {
	text := strings.Trim(octets.CleanLine(a.Name), " ")
	if text == "" {
		return appendHeader(dst, name, "<"+a.Email+">")
	}
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst, col := appendPhrase(dst, text, len(name)+2)
	if col+3+len(a.Email) > softLine {
		dst = append(dst, "\r\n"...)
	}
	dst = append(dst, " <"...)
	dst = append(dst, a.Email...)
	return append(dst, ">\r\n"...)
}

// appendPhrase appends a display name: as atoms if possible, quoted if it is ASCII, or else as encoded words.
func appendPhrase(dst []byte, text string, col int) ([]byte, int) {
	switch {
	case !foldable(text):
		return appendWords(dst, text, col, true)
	case atoms(text):
		return appendFolded(dst, text, col)
	}
	quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	if len(quoted)+col > softLine {
		return appendWords(dst, text, col, true) // folding inside quotes is legal, but poorly supported
	}
	return append(dst, quoted...), col + len(quoted)
}

func atoms(text string) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == ' ' ||
			strings.IndexByte("!#$%&'*+-/=?^_`{|}~", c) >= 0) {
			return false
		}
	}
	return true
}
