package objects

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// unsignedPayload is sent in place of the hash of a body that only TLS protects.
const unsignedPayload = "UNSIGNED-PAYLOAD"

// signer signs requests with AWS Signature Version 4, for the service s3
// (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
type signer struct {
	region string

	mu      sync.Mutex // guards the fields below
	of, day string     // secret and day (with the region) that key was made from
	key     []byte
}

// sign signs the method, URL, headers and payload of a request, and adds the headers that authorize it. The query of
// the URL must be in the form that canonicalQuery returns. payload is the hex SHA-256 of the body, or unsignedPayload.
func (s *signer) sign(req *http.Request, keys credentials, payload string, now time.Time) {
	stamp := now.UTC().Format("20060102T150405Z")
	req.Header.Set("X-Amz-Date", stamp)
	req.Header.Set("X-Amz-Content-Sha256", payload)
	if keys.session != "" {
		req.Header.Set("X-Amz-Security-Token", keys.session)
	}
	names := []string{"host"}
	for name := range req.Header {
		names = append(names, strings.ToLower(name))
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString(req.Method + "\n" + req.URL.EscapedPath() + "\n" + req.URL.RawQuery + "\n")
	for _, name := range names {
		value := req.URL.Host
		if name != "host" {
			value = strings.TrimSpace(req.Header.Get(name))
		}
		b.WriteString(name + ":" + value + "\n")
	}
	signed := strings.Join(names, ";")
	b.WriteString("\n" + signed + "\n" + payload)

	scope := stamp[:8] + "/" + s.region + "/s3/aws4_request"
	canonical := sha256.Sum256([]byte(b.String()))
	text := "AWS4-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" + hex.EncodeToString(canonical[:])
	signature := hex.EncodeToString(mac(s.keyOf(keys.secret, stamp[:8]), text))
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+keys.id+"/"+scope+
		",SignedHeaders="+signed+",Signature="+signature)
}

// keyOf returns the signing key for a secret and a day in the form 20060102.
func (s *signer) keyOf(secret, day string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of != secret || s.day != day {
		key := []byte("AWS4" + secret)
		for _, part := range []string{day, s.region, "s3", "aws4_request"} {
			key = mac(key, part)
		}
		s.of, s.day, s.key = secret, day, key
	}
	return s.key
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// escape percent-encodes all characters except the unreserved ones of RFC 3986 and, if keepSlash is set, slashes, as
// the canonical request requires.
func escape(s string, keepSlash bool) string {
	const upper = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			c == '-', c == '.', c == '_', c == '~', c == '/' && keepSlash:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(upper[c>>4])
			b.WriteByte(upper[c&15])
		}
	}
	return b.String()
}

// canonicalQuery returns the parameters in the form that is signed and sent.
func canonicalQuery(params map[string]string) string {
	pairs := make([]string, 0, len(params))
	for _, name := range slices.Sorted(maps.Keys(params)) {
		pairs = append(pairs, escape(name, false)+"="+escape(params[name], false))
	}
	return strings.Join(pairs, "&")
}
