// Package octets checks and cleans text for headers and SMTP commands. The packages below mail share it. Checks that
// run several times per email process eight bytes at a time.
package octets

import "strings"

// each is a word whose eight bytes are all 1. A product with it repeats a byte eight times.
const each = 0x0101010101010101

// Eight returns the first eight bytes of s as one little-endian word. It panics if s is shorter.
func Eight[T string | []byte](s T) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// Graphic reports whether all eight bytes of w are between first and the tilde. A byte outside that range ends up with
// its top bit set: it was set already, or the subtraction borrows, or the addition carries. Only a byte outside the
// range borrows from the next one.
func Graphic(w, first uint64) bool { return (w|(w-first*each)|(w+each))&(0x80*each) == 0 }

// Without reports whether none of the eight bytes of w equals c. All must be ASCII.
func Without(w, c uint64) bool { return (w^c*each+0x7f*each)&(0x80*each) == 0x80*each }

// Plain reports whether s consists of printable ASCII.
func Plain(s string) bool {
	for ; len(s) >= 8; s = s[8:] {
		if !Graphic(Eight(s), ' ') {
			return false
		}
	}
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// CleanLine returns s as a single line that is valid in a header. Line breaks and tabs become spaces, other control
// characters are removed, and invalid UTF-8 becomes U+FFFD.
func CleanLine(s string) string {
	if Plain(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\t' || r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029:
			b.WriteByte(' ')
		case r < 0x20 || r >= 0x7f && r < 0xa0:
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Digit reports whether c is an ASCII digit.
func Digit(c byte) bool { return '0' <= c && c <= '9' }

// Address reports whether addr is valid in a header and in an SMTP command without quoting: printable ASCII with an
// at sign, and none of the characters that end an address. core.ParseEmail is much stricter.
func Address(addr string) bool {
	if len(addr) < 3 || len(addr) > 254 || strings.IndexByte(addr, '@') < 1 || addr[len(addr)-1] == '@' {
		return false
	}
	for i := 0; i < len(addr); i++ {
		if !inAddress[addr[i]] {
			return false
		}
	}
	return true
}

// inAddress marks the bytes that are valid in an address.
var inAddress = func() (t [256]bool) {
	for c := '!'; c <= '~'; c++ {
		t[c] = !strings.ContainsRune(`<>(),;:"[]\`, c)
	}
	return t
}()
