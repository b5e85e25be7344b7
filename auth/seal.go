package auth

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"slices"
	"sync"

	"golang.org/x/crypto/chacha20poly1305"

	"newsletterd/core"
)

// Sealer creates stateless tokens: a plaintext encrypted with XChaCha20-Poly1305, in base64url. The nonce is an HMAC of
// purpose and plaintext under a separate key (as in SIV modes), so the same plaintext always results in the same token.
// An email that is resent after a crash therefore has the same bytes. An observer can only see whether two tokens are
// equal. A Sealer is safe for concurrent use.
type Sealer struct {
	aead   cipher.AEAD
	nonces sync.Pool // of *sealState
}

// sealState holds the buffers for one call of Seal. They are reused, because a worker seals a token for each email.
type sealState struct {
	mac   hash.Hash
	sum   [sha256.Size]byte
	aad   [1]byte
	plain []byte
	raw   []byte
}

// The purposes of tokens sealed with the key "unsubscribe". A number must never be reused for another purpose.
const (
	purposeUnsubscribe byte = 1
	purposeUndo        byte = 2
	purposeManage      byte = 3
	purposeView        byte = 4
	purposePreview     byte = 5
	purposeDraft       byte = 6
	purposeRecords     byte = 7
)

// purposeSuccessor is the purpose of a refresh token's sealed successor. Its key is the used token.
const purposeSuccessor byte = 3

const (
	nonceSize = chacha20poly1305.NonceSizeX
	// maxSealed is the maximum length of a token for Open, in characters.
	maxSealed = 4096
)

// sealedText is the encoding of sealed tokens. It is strict, so that each token has only one spelling, and no variant
// can bypass a list of used tokens.
var sealedText = base64.RawURLEncoding.Strict()

// NewSealer derives the two keys (encryption, nonces) from a purpose key of at least 32 bytes.
func NewSealer(key []byte) (*Sealer, error) {
	if len(key) < 32 {
		return nil, fmt.Errorf("sealer: key of %d bytes, want 32", len(key))
	}
	// After the check above, neither derivation nor construction can fail, because the lengths are fixed.
	enc, err1 := hkdf.Expand(sha256.New, key, "newsletterd sealed token encryption", chacha20poly1305.KeySize)
	mac, err2 := hkdf.Expand(sha256.New, key, "newsletterd sealed token nonce", sha256.Size)
	aead, err3 := chacha20poly1305.NewX(enc)
	if err1 != nil || err2 != nil || err3 != nil {
		return nil, fmt.Errorf("sealer: %v %v %v", err1, err2, err3)
	}
	s := &Sealer{aead: aead}
	s.nonces.New = func() any { return &sealState{mac: hmac.New(sha256.New, mac)} }
	return s, nil
}

// Seal returns a token that contains plain. The token can only be opened for the same purpose.
func (s *Sealer) Seal(purpose byte, plain []byte) string {
	return string(s.AppendSeal(nil, purpose, plain))
}

// AppendSeal is like Seal, but appends the token to dst. A token has 54 characters plus 4/3 of the plaintext length.
func (s *Sealer) AppendSeal(dst []byte, purpose byte, plain []byte) []byte {
	st := s.nonces.Get().(*sealState)
	dst = s.appendSeal(st, dst, purpose, plain)
	s.nonces.Put(st)
	return dst
}

func (s *Sealer) appendSeal(st *sealState, dst []byte, purpose byte, plain []byte) []byte {
	st.aad[0] = purpose
	st.mac.Reset()
	st.mac.Write(st.aad[:])
	st.mac.Write(plain)
	nonce := st.mac.Sum(st.sum[:0])[:nonceSize]
	raw := append(slices.Grow(st.raw[:0], nonceSize+len(plain)+chacha20poly1305.Overhead), nonce...)
	st.raw = s.aead.Seal(raw, nonce, plain, st.aad[:])
	return sealedText.AppendEncode(dst, st.raw)
}

// Open returns a token's plaintext. If the token wasn't sealed with this key for the given purpose, it returns
// core.ErrInvalidToken.
func (s *Sealer) Open(purpose byte, token string) ([]byte, error) {
	if len(token) > maxSealed {
		return nil, core.ErrInvalidToken
	}
	// The decoder of encoding/base64 skips newlines, which a token doesn't contain.
	for i := range len(token) {
		if token[i] == '\n' || token[i] == '\r' {
			return nil, core.ErrInvalidToken
		}
	}
	raw, err := sealedText.DecodeString(token)
	if err != nil || len(raw) < nonceSize+chacha20poly1305.Overhead {
		return nil, core.ErrInvalidToken
	}
	plain, err := s.aead.Open(nil, raw[:nonceSize], raw[nonceSize:], []byte{purpose})
	if err != nil {
		return nil, core.ErrInvalidToken
	}
	return plain, nil
}
