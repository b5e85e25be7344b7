// Package authtest reads and forges tokens and signs like passkeys. It is independent of package auth.
package authtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	jose "github.com/go-jose/go-jose/v4"
)

// Base64 decodes part of a token or key: base64url without padding.
func Base64(t testing.TB, s string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Header returns the decoded header of a JWT.
func Header(t testing.TB, token string) string {
	t.Helper()
	head, _, _ := strings.Cut(token, ".")
	return string(Base64(t, head))
}

// Claims returns the claims of a JWT without verifying it.
func Claims(t testing.TB, token string) map[string]any {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("no JWT: %q", token)
	}
	claims := map[string]any{}
	if err := json.Unmarshal(Base64(t, parts[1]), &claims); err != nil {
		t.Fatal(err)
	}
	return claims
}

// Forge signs claims with any key, algorithm and header. An empty typ leaves the type out.
func Forge(t testing.TB, key any, alg jose.SignatureAlgorithm, kid, typ string, claims map[string]any) string {
	t.Helper()
	opts := (&jose.SignerOptions{}).WithHeader("kid", kid)
	if typ != "" {
		opts = opts.WithType(jose.ContentType(typ))
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, opts)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	jws, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// P256 returns the public key with the coordinates of a JWK.
func P256(t testing.TB, x, y string) *ecdsa.PublicKey {
	t.Helper()
	point := append(append([]byte{4}, Base64(t, x)...), Base64(t, y)...)
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
