package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
)

// validChallenge reports whether an S256 challenge has the form of RFC 7636 section 4.2: 32 bytes in base64url
// without padding.
func validChallenge(s string) bool {
	b, err := base64.RawURLEncoding.DecodeString(s)
	return err == nil && len(b) == sha256.Size
}

// validVerifier reports whether a code_verifier has the form of RFC 7636 section 4.1.
func validVerifier(s string) bool {
	if len(s) < 43 || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.', c == '_', c == '~':
		default:
			return false
		}
	}
	return true
}

// checkVerifier reports whether a code_verifier matches the authorization request's challenge (RFC 7636 section 4.6).
// Without a challenge, a verifier is refused, since a code could otherwise be injected into a client that relies on
// PKCE (RFC 9700 section 4.8.2).
func checkVerifier(challenge, verifier string) bool {
	if challenge == "" {
		return verifier == ""
	}
	if !validVerifier(verifier) {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(challenge)) == 1
}
