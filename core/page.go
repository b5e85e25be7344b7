package core

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
)

// Page selects part of a list: at most Limit rows with a key greater than After. Lists are ordered by a unique key, so
// concurrent changes neither repeat nor skip rows.
type Page struct {
	After string // key of the last row seen; empty: from the start
	Limit int    // maximum number of rows
}

// CursorKey is the secret for cursors. A cursor is the key of the last returned row, encrypted and with a MAC. This
// prevents clients from requesting a position that no response contained, and from deriving the number of rows from a
// key.
type CursorKey []byte

// ErrInvalidCursor is returned for a cursor that is malformed, or that belongs to another caller, path or filter.
var ErrInvalidCursor = &Error{
	Kind: Invalid, Code: "invalid_cursor",
	Message: "The cursor is not valid for this request. Start again without a cursor.",
	Field:   "cursor",
}

const cursorMAC = 16 // bytes

// Seal returns the cursor for the page that follows the key after. The cursor is valid only for the same binding, which
// consists of the caller, the path and the filter.
func (k CursorKey) Seal(binding, after string) string {
	tag := k.mac(binding, after)
	return base64.RawURLEncoding.EncodeToString(append(tag, k.veil(tag, []byte(after))...))
}

// Open returns the key in a cursor. If the cursor is invalid for the binding, it returns ErrInvalidCursor.
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

// veil encrypts or decrypts text: AES-CTR with a derived key and the MAC as the initial counter (as in RFC 5297). The
// MAC covers the text, so equal counters imply equal texts.
func (k CursorKey) veil(tag, text []byte) []byte {
	h := hmac.New(sha256.New, k)
	h.Write([]byte("cursor encryption"))
	block, err := aes.NewCipher(h.Sum(nil))
	if err != nil {
		panic(err) // the key has 32 bytes
	}
	out := make([]byte, len(text))
	cipher.NewCTR(block, tag).XORKeyStream(out, text)
	return out
}

// MaxSorted is the maximum number of subscriptions that can be sorted other than by id, because sorting must read all
// of them.
const MaxSorted = 10_000

// ErrTooManyToSort is returned if there are more than MaxSorted subscriptions to sort.
var ErrTooManyToSort = Invalidf("sort",
	"Sorting works for up to %d subscribers. Choose a smaller list, or leave out sort.", MaxSorted)
