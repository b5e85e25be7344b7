package core

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// NewToken returns an opaque token of 256 random bits in base64url without padding (43 characters).
func NewToken() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails: since Go 1.24, the process would crash instead
	return base64.RawURLEncoding.EncodeToString(b)
}

// HashToken returns the stored form of a token: its SHA-256. Tokens have 256 random bits, so a slow hash would add
// nothing.
func HashToken(token string) []byte {
	h := sha256.Sum256([]byte(token))
	return h[:]
}
