package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
	"time"

	"newsletterd/core"
)

// The headers of a signed webhook, in net/http's canonical spelling.
const (
	HeaderSignature = "X-Signature"
	HeaderTimestamp = "X-Timestamp"
	HeaderNonce     = "X-Nonce"
	HeaderClientID  = "X-Client-Id"
)

// SignatureTolerance is the maximum difference between a timestamp and this server's clock, in either direction.
const SignatureTolerance = 300 * time.Second

const (
	secretPrefix  = "whsec_"
	macPrefix     = "v1="
	maxSignatures = 4
)

// Signature holds the parsed but unverified signature headers of a webhook. Before calling VerifySignature, a caller
// may look up ClientID and Nonce, but must not change anything because of them.
type Signature struct {
	ClientID  string
	Nonce     string
	Timestamp string       // 10 digits, as signed
	At        core.Instant // Timestamp as an instant

	macs [maxSignatures][sha256.Size]byte
	n    int
}

// ParseSignature parses the four signature headers of a webhook and compares the timestamp with now. header is an
// http.Header. Receivers call ParseSignature before they read the body. If a header is missing, repeated or malformed,
// or the timestamp is too far from now, it returns core.ErrInvalidSignature.
func ParseSignature(header map[string][]string, now core.Instant) (Signature, error) {
	var s Signature
	sig, ok1 := single(header, HeaderSignature)
	ts, ok2 := single(header, HeaderTimestamp)
	nonce, ok3 := single(header, HeaderNonce)
	client, ok4 := single(header, HeaderClientID)
	if !ok1 || !ok2 || !ok3 || !ok4 || !word(nonce, 16, 64) || !word(client, 1, 64) || !s.readMACs(sig) {
		return Signature{}, core.ErrInvalidSignature
	}
	at, ok := readTimestamp(ts)
	if d := at.Sub(now); !ok || d > SignatureTolerance || d < -SignatureTolerance {
		return Signature{}, core.ErrInvalidSignature
	}
	s.ClientID, s.Nonce, s.Timestamp, s.At = client, nonce, ts, at
	return s, nil
}

// VerifySignature verifies s over the declared path and the raw body. It suffices that one signature matches one of the
// client's keys, of which there are two while a secret is being replaced. For an unknown client, which has no keys, it
// does the same work with a random key. It returns core.ErrInvalidSignature if no signature matches.
func VerifySignature(s Signature, path string, body []byte, keys ...[]byte) error {
	if len(keys) == 0 {
		keys = [][]byte{strangerKey()}
	}
	text := signedText(path, s.ClientID, s.Timestamp, s.Nonce, body)
	good := false
	for _, key := range keys {
		want := mac(key, text)
		for i := range s.n {
			if hmac.Equal(want, s.macs[i][:]) {
				good = true
			}
		}
	}
	if !good {
		return core.ErrInvalidSignature
	}
	return nil
}

// Sign returns the value of X-Signature for one attempt. timestamp is in unix seconds, nonce must be new for each
// attempt, and key is the result of ParseSecret.
func Sign(key []byte, path, clientID string, timestamp int64, nonce string, body []byte) string {
	text := signedText(path, clientID, strconv.FormatInt(timestamp, 10), nonce, body)
	return macPrefix + hex.EncodeToString(mac(key, text))
}

// SignStandard returns the value of webhook-signature (Standard Webhooks 1.0, scheme v1). id is the value of
// webhook-id, and timestamp is the value of webhook-timestamp in unix seconds.
func SignStandard(key []byte, id string, timestamp int64, body []byte) string {
	text := append([]byte(id+"."+strconv.FormatInt(timestamp, 10)+"."), body...)
	return "v1," + base64.StdEncoding.EncodeToString(mac(key, text))
}

// NewNonce returns a nonce for one attempt: 128 random bits in 22 characters.
func NewNonce() string {
	b := make([]byte, 16)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// NewSecret returns a webhook secret: whsec_ and the standard base64 of 32 random bytes.
func NewSecret() string {
	b := make([]byte, 32)
	rand.Read(b)
	return secretPrefix + base64.StdEncoding.EncodeToString(b)
}

// ParseSecret returns the key in a secret. The key must have exactly 32 bytes.
func ParseSecret(secret string) ([]byte, error) {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.Strict().DecodeString(text)
	if !ok || err != nil || len(key) != 32 {
		return nil, core.Invalidf("secret", "secret must be whsec_ followed by 32 bytes in base64.")
	}
	return key, nil
}

// signedText joins version, method, path, client, timestamp, nonce and the body's hash with newlines.
func signedText(path, clientID, timestamp, nonce string, body []byte) []byte {
	sum := sha256.Sum256(body)
	b := make([]byte, 0, 16+len(path)+len(clientID)+len(timestamp)+len(nonce)+2*len(sum))
	b = append(b, "v1\nPOST\n"...)
	for _, part := range [...]string{path, clientID, timestamp, nonce} {
		b = append(append(b, part...), '\n')
	}
	return hex.AppendEncode(b, sum[:])
}

func mac(key, text []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(text)
	return h.Sum(nil)
}

// strangerKey returns the key that is used for unknown clients.
var strangerKey = sync.OnceValue(func() []byte {
	b := make([]byte, 32)
	rand.Read(b)
	return b
})

func single(header map[string][]string, name string) (string, bool) {
	if v := header[name]; len(v) == 1 {
		return v[0], true
	}
	return "", false
}

// readMACs parses up to 4 signatures, separated only by commas, and reports whether text contains nothing else. Each is
// "v1=" and 64 lower-case hex digits.
func (s *Signature) readMACs(text string) bool {
	const size = len(macPrefix) + 2*sha256.Size
	if len(text) > maxSignatures*(size+1) {
		return false
	}
	for part := range strings.SplitSeq(text, ",") {
		digits, ok := strings.CutPrefix(part, macPrefix)
		if !ok || len(part) != size || s.n == maxSignatures || strings.ToLower(digits) != digits {
			return false
		}
		if _, err := hex.Decode(s.macs[s.n][:], []byte(digits)); err != nil {
			return false
		}
		s.n++
	}
	return s.n > 0
}

// readTimestamp parses a Unix time in seconds, which must have exactly 10 digits.
func readTimestamp(text string) (core.Instant, bool) {
	if len(text) != 10 {
		return 0, false
	}
	var sec int64
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		sec = sec*10 + int64(text[i]-'0')
	}
	return core.Instant(sec * 1000), true
}

// word reports whether text consists of shortest to longest characters from A-Za-z0-9_-.
func word(text string, shortest, longest int) bool {
	if len(text) < shortest || len(text) > longest {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}
