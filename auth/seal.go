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

// Sealer makes tokens that nothing is stored for: XChaCha20-Poly1305 over a plaintext, base64url. The
// nonce is an HMAC of purpose and plaintext under a key of its own (as in SIV modes), so the same
// plaintext always gives the same token: a mail that is sent again after a crash has the same bytes.
// All that this tells a reader is whether two tokens are the same. Safe for concurrent use.
type Sealer struct {
	aead   cipher.AEAD
	nonces sync.Pool // of *sealState
}

// sealState keeps what one sealing needs, for a sender seals once per mail.
type sealState struct {
	mac   hash.Hash
	sum   [sha256.Size]byte
	aad   [1]byte
	plain []byte
	raw   []byte
}

// The purposes of tokens under the key "unsubscribe". A number is never used again for another purpose.
const (
	purposeUnsubscribe byte = 1
	purposeUndo        byte = 2
	purposeManage      byte = 3
	purposeView        byte = 4
	purposePreview     byte = 5
	purposeDraft       byte = 6
	purposeRecords     byte = 7
)

// purposeSuccessor is the purpose of the successor of a refresh token. Its key is the used token.
const purposeSuccessor byte = 3

const (
	nonceSize = chacha20poly1305.NonceSizeX
	// maxSealed bounds what Open looks at, in characters.
	maxSealed = 4096
)

// Strict: a token has one spelling, so none can be varied to slip past a list of used ones.
var sealedText = base64.RawURLEncoding.Strict()

// NewSealer derives the two keys (encryption, nonces) of a purpose key of at least 32 bytes.
func NewSealer(key []byte) (*Sealer, error) {
	if len(key) < 32 {
		return nil, fmt.Errorf("sealer: key of %d bytes, want 32", len(key))
	}
	// The lengths are fixed: neither derivation nor construction can fail after the check above.
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

// Seal makes the token of a plaintext for one purpose: a token opens for no other.
func (s *Sealer) Seal(purpose byte, plain []byte) string {
	return string(s.AppendSeal(nil, purpose, plain))
}

// AppendSeal appends the token to dst: 54 characters and 4/3 of the plaintext's length.
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

// Open returns the plaintext of a token that this key sealed for the purpose; else core.ErrInvalidToken.
func (s *Sealer) Open(purpose byte, token string) ([]byte, error) {
	if len(token) > maxSealed {
		return nil, core.ErrInvalidToken
	}
	// The decoder of encoding/base64 skips line ends; a token has none.
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
