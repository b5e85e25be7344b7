package dkim

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"

	"newsletterd/core"
)

// NewKey generates a key for core.DKIMRSA (2048 bits) or core.DKIMEd25519. For any other algorithm, it returns an
// error. private is in PKCS #8 form, and public is the value of p= in the DNS record.
func NewKey(algorithm string) (private []byte, public string, err error) {
	var key crypto.Signer
	var pub []byte
	switch algorithm {
	case core.DKIMRSA:
		k, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return nil, "", fmt.Errorf("dkim: %w", err)
		}
		if pub, err = x509.MarshalPKIXPublicKey(&k.PublicKey); err != nil {
			return nil, "", fmt.Errorf("dkim: %w", err)
		}
		key = k
	case core.DKIMEd25519:
		p, k, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, "", fmt.Errorf("dkim: %w", err)
		}
		key, pub = k, p // RFC 8463 section 3: the raw 32 bytes
	default:
		return nil, "", fmt.Errorf("dkim: unknown algorithm %q", algorithm)
	}
	if private, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
		return nil, "", fmt.Errorf("dkim: %w", err)
	}
	return private, base64.StdEncoding.EncodeToString(pub), nil
}

// Key is one key of a Signer.
type Key struct {
	Domain, Selector string // d= and s= of the signature
	Private          []byte // PKCS #8
}
