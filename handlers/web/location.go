package web

import (
	"strings"

	"golang.org/x/net/idna"
)

// ASCII converts a URL to the form allowed in headers and request lines. The host is encoded with IDNA (RFC 5891), and
// all other non-ASCII text is percent-encoded as UTF-8 (RFC 3986 section 2.5). An ASCII URL is returned unchanged.
func ASCII(address string) string {
	if strings.IndexFunc(address, notInAddress) < 0 {
		return address
	}
	scheme, rest, found := strings.Cut(address, "://")
	if !found || strings.ContainsAny(scheme, "/?#") {
		return percentEncoded(address)
	}
	end := strings.IndexAny(rest, `/?#\`)
	if end < 0 {
		end = len(rest)
	}
	user, host := "", rest[:end]
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		user, host = host[:at+1], host[at+1:]
	}
	port := ""
	if at := strings.LastIndexByte(host, ':'); at >= 0 {
		host, port = host[:at], host[at:]
	}
	if strings.IndexFunc(host, notInAddress) >= 0 {
		if ascii, err := idna.Lookup.ToASCII(host); err == nil {
			host = ascii
		}
	}
	return percentEncoded(scheme + "://" + user + host + port + rest[end:])
}

func notInAddress(r rune) bool { return r <= ' ' || r >= 0x7f }

// percentEncoded encodes all bytes except visible ASCII.
func percentEncoded(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; notInAddress(rune(c)) {
			b.WriteString(string([]byte{'%', digits[c>>4], digits[c&15]}))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
