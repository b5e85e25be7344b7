package core

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Email is an address as given: ASCII, exactly one addr-spec, with the domain in A-labels. Compare addresses only by
// Key.
type Email string

// Key returns the form for comparing and storing addresses: ASCII letters in lower case. Unicode case folding would map
// U+212A to k and could merge two people's accounts.
func (e Email) Key() string {
	for i := 0; i < len(e); i++ {
		if c := e[i]; 'A' <= c && c <= 'Z' {
			b := []byte(e)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return string(e)
}

// Domain returns the part after the at sign in lower case.
func (e Email) Domain() string {
	k := e.Key()
	return k[strings.LastIndexByte(k, '@')+1:]
}

// Mask returns the address as shown in logs: the first character of the local part and the domain.
func (e Email) Mask() string {
	at := strings.LastIndexByte(string(e), '@')
	if at < 1 {
		return "***"
	}
	return string(e[0]) + "***" + string(e[at:])
}

var addressInText = regexp.MustCompile(`([A-Za-z0-9!#$%&'*+/=?^_{|}~-])[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]*@((?:[A-Za-z0-9-]+\.)+[A-Za-z0-9-]+)`)

// MaskAddresses returns text with every address masked as by Mask.
func MaskAddresses(text string) string {
	if strings.IndexByte(text, '@') < 0 {
		return text
	}
	return addressInText.ReplaceAllString(text, "${1}***@${2}")
}

// ErrInvalidEmail is returned for a string that is not an email address (code invalid_email).
var ErrInvalidEmail = &Error{
	Kind: Invalid, Code: "invalid_email",
	Message: "This is not a valid email address.", Field: "email",
}

// ForeignLetter looks for an address in text and returns the first non-ASCII letter before its @, such as ü, because
// addresses can't contain one. If there is none, it returns an empty string.
func ForeignLetter(text string) string {
	before, _, ok := strings.Cut(text, "@")
	if !ok || !utf8.ValidString(before) {
		return ""
	}
	for _, r := range before[strings.LastIndexAny(before, " \t,;:<>()\"'")+1:] {
		if r >= utf8.RuneSelf && unicode.IsLetter(r) {
			return string(r)
		}
	}
	return ""
}

// ParseEmail parses one addr-spec (RFC 5322 section 3.4.1, dot-atom local part only). It allows at most 64 octets
// before the at sign and 254 in total. The domain needs at least two labels, and the last one must not be numeric.
// Spaces and tabs around the address are removed. A Unicode domain is converted to A-labels (RFC 5891, Lookup profile).
// Display names, quoted local parts, comments and IP literals are refused: net/mail accepts them, but a signup form
// must not.
func ParseEmail(s string) (Email, error) {
	s = strings.Trim(s, " \t")
	at := strings.LastIndexByte(s, '@')
	if at < 1 || at > 64 || len(s) > 1000 {
		return "", ErrInvalidEmail
	}
	local, domain := s[:at], s[at+1:]
	if !dotAtom(local) {
		return "", ErrInvalidEmail
	}
	domain, ok := mailDomain(domain)
	if !ok || len(local)+1+len(domain) > 254 {
		return "", ErrInvalidEmail
	}
	return Email(local + "@" + domain), nil
}

func dotAtom(s string) bool {
	dot := true // at the start, or directly after a dot
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '.':
			if dot {
				return false
			}
			dot = true
		case isAtext(c):
			dot = false
		default:
			return false
		}
	}
	return !dot
}

func isAtext(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("!#$%&'*+-/=?^_`{|}~", c) >= 0
}

// mailDomain checks a domain and returns it in A-labels. It keeps the case of an ASCII domain.
func mailDomain(s string) (string, bool) {
	if plainDomain(s) {
		return s, true
	}
	a, err := idna.Lookup.ToASCII(s)
	if err != nil || !plainDomain(a) {
		return "", false
	}
	return a, true
}

// ParseDomain parses a tenant's domain name and returns it in A-labels and lower case.
func ParseDomain(s string) (string, bool) {
	a, ok := mailDomain(strings.Trim(s, " \t"))
	return Email(a).Key(), ok
}

// plainDomain reports whether s is an ASCII host name with at least two labels. It passes labels that start with xn--
// to idna, which refuses those that are invalid for a lookup.
func plainDomain(s string) bool {
	if len(s) > 253 {
		return false
	}
	labels, start := 0, 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] != '.' {
			c := s[i]
			if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-') {
				return false
			}
			continue
		}
		label := s[start:i]
		if len(label) == 0 || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if len(label) >= 4 && label[2] == '-' && label[3] == '-' {
			if _, err := idna.Lookup.ToASCII(label); err != nil {
				return false
			}
		}
		labels++
		start = i + 1
	}
	last := s[strings.LastIndexByte(s, '.')+1:]
	return labels >= 2 && !allDigits(last)
}

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
