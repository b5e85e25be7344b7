package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"math/big"
	"slices"

	"newsletterd/core"
)

// PublicKey is a public key in the key set (RFC 7517 section 4, RFC 7518 section 6).
type PublicKey struct {
	Kty string `json:"kty" about:"Key type: EC or RSA"`
	Use string `json:"use" about:"Always sig: the key verifies signatures"`
	Alg string `json:"alg" about:"Signature algorithm: ES256 or RS256"`
	Kid string `json:"kid" about:"Key ID, as in the header of tokens"`
	Crv string `json:"crv,omitempty" about:"Curve of an EC key: P-256"`
	X   string `json:"x,omitempty" about:"X coordinate of an EC key, in base64url"`
	Y   string `json:"y,omitempty" about:"Y coordinate of an EC key, in base64url"`
	N   string `json:"n,omitempty" about:"Modulus of an RSA key, in base64url"`
	E   string `json:"e,omitempty" about:"Exponent of an RSA key, in base64url"`
}

// KeySet is the document at jwks_uri (RFC 7517 section 5).
type KeySet struct {
	Keys []PublicKey `json:"keys" about:"Public keys that verify tokens; includes keys that don't sign anymore or yet"`
}

// madeKeySet is a cached key set with the keys that it was built from.
type madeKeySet struct {
	of  []*signingKey
	set KeySet
}

// KeySet returns the public keys that verify current and future tokens.
func (p *Provider) KeySet(ctx context.Context, now core.Instant) (KeySet, error) {
	// Create a missing RSA key, because relying parties would cache a set without it.
	if _, err := p.keys.signer(ctx, algRS256, now); err != nil {
		return KeySet{}, err
	}
	keys, err := p.keys.current(ctx, now)
	if err != nil {
		return KeySet{}, err
	}
	if made := p.keySet.Load(); made != nil && slices.Equal(made.of, keys) {
		return made.set, nil
	}
	set := KeySet{Keys: []PublicKey{}}
	for _, k := range keys {
		pub, err := publicKey(k.KID, k.public)
		if err != nil {
			return KeySet{}, err
		}
		set.Keys = append(set.Keys, pub)
	}
	p.keySet.Store(&madeKeySet{keys, set})
	return set, nil
}

func publicKey(kid string, public crypto.PublicKey) (PublicKey, error) {
	k := PublicKey{Use: "sig", Alg: algOf(public), Kid: kid}
	b64 := base64.RawURLEncoding.EncodeToString
	switch pub := public.(type) {
	case *ecdsa.PublicKey:
		point, err := pub.Bytes() // 4, X, Y: each has the curve's size (RFC 7518 section 6.2.1.2)
		if err != nil {
			return k, err
		}
		half := (len(point) - 1) / 2
		k.Kty, k.Crv = "EC", pub.Params().Name
		k.X, k.Y = b64(point[1:1+half]), b64(point[1+half:])
	case *rsa.PublicKey:
		k.Kty, k.N, k.E = "RSA", b64(pub.N.Bytes()), b64(big.NewInt(int64(pub.E)).Bytes())
	default:
		return k, fmt.Errorf("key %s: %T cannot be published", kid, public)
	}
	return k, nil
}
