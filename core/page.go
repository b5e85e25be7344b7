package core

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
)

// Page asks for a part of a list: at most Limit rows, those whose key comes after After. Lists are ordered by a unique
// key, so no row is returned twice or left out while others come and go.
type Page struct {
	After string // the key of the last row seen; empty: from the start
	Limit int
}

// CursorKey is the secret of cursors. A cursor is the key of the last row that was returned, encrypted and with a MAC,
// so that no one asks for a place that no answer named or learns from a row's number how many rows there are.
type CursorKey []byte

// ErrInvalidCursor is returned for a cursor that is malformed, or made for another caller or filter.
var ErrInvalidCursor = &Error{
	Kind: Invalid, Code: "invalid_cursor",
	Message: "The cursor is not valid for this request. Start again without a cursor.",
	Field:   "cursor",
}

const cursorMAC = 16 // bytes

// Seal returns the cursor that goes on after a key. It is good for the same binding only: the caller, the path and the
// filter.
func (k CursorKey) Seal(binding, after string) string {
	tag := k.mac(binding, after)
	return base64.RawURLEncoding.EncodeToString(append(tag, k.veil(tag, []byte(after))...))
}

// Open returns the key that a cursor names.
func (k CursorKey) Open(binding, cursor string) (after string, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) <= cursorMAC {
		return "", ErrInvalidCursor
	}
	after = string(k.veil(b[:cursorMAC], b[cursorMAC:]))
	if !hmac.Equal(b[:cursorMAC], k.mac(binding, after)) {
		return "", ErrInvalidCursor
	}
	return after, nil
}

func (k CursorKey) mac(binding, after string) []byte {
	inner := sha256.Sum256([]byte(binding))
	h := hmac.New(sha256.New, k)
	h.Write(inner[:])
	h.Write([]byte(after))
	return h.Sum(nil)[:cursorMAC]
}

// veil encrypts or decrypts: AES-CTR under a key of its own, from the MAC as its counter (the
// construction of RFC 5297). The MAC covers the text, so equal counters mean equal texts.
func (k CursorKey) veil(tag, text []byte) []byte {
	h := hmac.New(sha256.New, k)
	h.Write([]byte("cursor encryption"))
	block, err := aes.NewCipher(h.Sum(nil))
	if err != nil {
		panic(err) // 32 bytes are a key
	}
	out := make([]byte, len(text))
	cipher.NewCTR(block, tag).XORKeyStream(out, text)
	return out
}

// MaxSorted is how many subscriptions can be listed in another order than that of their ids: to sort takes reading all.
const MaxSorted = 10_000

// ErrTooManyToSort is returned where there are more.
var ErrTooManyToSort = Invalidf("sort",
	"Sorting works for up to %d subscribers. Choose a smaller list, or leave out sort.", MaxSorted)
