package core

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"github.com/google/uuid"
)

// Lifetimes of the tokens and of what waits for them.
const (
	ConfirmTTLDays = 7
	UndoTTLDays    = 7
)

// A confirm token is the id of its row and a MAC over id and means: 48 bytes, base64url. One row so serves
// the token of subscribe's answer and the mailed one, neither of which can be made from the other, and the
// database holds none of them: the mailer makes the mailed one again when it renders the mail.
const confirmTokenBytes = 16 + sha256.Size

// ConfirmToken makes the token by which a row of confirm tokens is redeemed by the given means.
func ConfirmToken(key []byte, rowID, means string) string {
	id, err := uuid.Parse(rowID)
	if err != nil {
		panic("core: a row of confirm tokens has the id " + rowID)
	}
	b := make([]byte, 0, confirmTokenBytes)
	b = append(b, id[:]...)
	b = append(b, confirmMAC(key, id, means)...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseConfirmToken returns the row and the means that a token stands for; ErrInvalidToken for any text
// that ConfirmToken did not make with this key.
func ParseConfirmToken(key []byte, token string) (rowID, means string, err error) {
	if len(token) != base64.RawURLEncoding.EncodedLen(confirmTokenBytes) { // the decoder skips line ends
		return "", "", ErrInvalidToken
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) != confirmTokenBytes {
		return "", "", ErrInvalidToken
	}
	id := uuid.UUID(b[:16])
	for _, m := range [...]string{MeansMailed, MeansResponse} {
		if hmac.Equal(b[16:], confirmMAC(key, id, m)) {
			return id.String(), m, nil
		}
	}
	return "", "", ErrInvalidToken
}

func confirmMAC(key []byte, id uuid.UUID, means string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(id[:])
	h.Write([]byte(means))
	return h.Sum(nil)
}
