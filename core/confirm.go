package core

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"github.com/google/uuid"
)

// Lifetimes of tokens, and of the requests that they confirm.
const (
	ConfirmTTLDays = 7
	UndoTTLDays    = 7
)

// A confirm token is the id of its row and a MAC over id and proof: 48 bytes in base64url. One row serves both the
// token in the subscribe response and the emailed one. Neither can be derived from the other, and the database stores
// neither: the mailer computes the emailed token when it renders the email.
//
// A token in a response also contains a mark of its request between id and MAC, because a later request may have
// replaced the row. The mark holds the instant in 6 bytes, and two 8-byte MACs: over the request's content and over its
// origin.
const (
	mailedTokenBytes   = 16 + sha256.Size
	answeredTokenBytes = 16 + requestMarkBytes + sha256.Size
	requestMarkBytes   = 6 + 8 + 8
)

// ConfirmRequest holds the parts of a subscribe request that the confirmation returns and records.
type ConfirmRequest struct {
	Email       Email // original spelling
	Preferences Preferences
	Origin      Origin
	TextVersion string // version of the form's text; empty: not newsletterd's form
	At          Instant
}

// RequestMark is the part of a token in a subscribe response that identifies the request.
type RequestMark struct {
	At      Instant
	content [8]byte
	origin  [8]byte
}

// Mark computes the mark of a request with key.
func (r *ConfirmRequest) Mark(key []byte) RequestMark {
	return RequestMark{
		At:      r.At,
		content: markOf(key, "content", string(r.Email), string(r.Preferences)),
		origin:  markOf(key, "origin", r.Origin.Source, r.Origin.Remote, r.Origin.UserAgent, r.TextVersion),
	}
}

// Reduce removes from the stored request r everything that the request with mark m did not contain. If the content
// differs, the address becomes lower case and the preferences empty. If the origin differs, the origin becomes unknown.
func (m RequestMark) Reduce(r *ConfirmRequest, key []byte) {
	row := r.Mark(key)
	r.At = m.At
	if row.content != m.content {
		r.Email, r.Preferences = Email(r.Email.Key()), NoPreferences
	}
	if row.origin != m.origin {
		r.Origin, r.TextVersion = Origin{}, ""
	}
}

func markOf(key []byte, words ...string) (mark [8]byte) {
	h := hmac.New(sha256.New, key)
	for _, w := range words {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(w)))) // different lists never produce the same bytes
		h.Write([]byte(w))
	}
	copy(mark[:], h.Sum(nil))
	return mark
}

func (m RequestMark) bytes() []byte {
	b := make([]byte, 0, requestMarkBytes)
	b = append(b, binary.BigEndian.AppendUint64(nil, uint64(m.At))[2:]...)
	return append(append(b, m.content[:]...), m.origin[:]...)
}

// ConfirmToken returns the confirm token for a row with the given proof. The emailed token has no mark, because no
// other request can replace its row.
func ConfirmToken(key []byte, rowID, proof string, mark *RequestMark) string {
	id, err := uuid.Parse(rowID)
	if err != nil {
		panic("core: a row of confirm tokens has the id " + rowID)
	}
	b := make([]byte, 0, answeredTokenBytes)
	b = append(b, id[:]...)
	if mark != nil {
		b = append(b, mark.bytes()...)
	}
	return base64.RawURLEncoding.EncodeToString(append(b, confirmMAC(key, b, proof)...))
}

// ParseConfirmToken returns the row, proof and mark of a token. The mark is nil if the token has none. For any string
// that ConfirmToken did not create with this key, it returns ErrInvalidToken.
func ParseConfirmToken(key []byte, token string) (rowID, proof string, mark *RequestMark, err error) {
	size := mailedTokenBytes
	if len(token) == base64.RawURLEncoding.EncodedLen(answeredTokenBytes) {
		size = answeredTokenBytes
	}
	if len(token) != base64.RawURLEncoding.EncodedLen(size) { // the decoder skips line ends
		return "", "", nil, ErrInvalidToken
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) != size {
		return "", "", nil, ErrInvalidToken
	}
	body, mac := b[:size-sha256.Size], b[size-sha256.Size:]
	if size == answeredTokenBytes {
		mark = &RequestMark{At: Instant(binary.BigEndian.Uint64(append([]byte{0, 0}, body[16:22]...)))}
		copy(mark.content[:], body[22:30])
		copy(mark.origin[:], body[30:38])
	}
	for _, m := range [...]string{ProofMailed, ProofResponse} {
		if hmac.Equal(mac, confirmMAC(key, body, m)) {
			return uuid.UUID(body[:16]).String(), m, mark, nil
		}
	}
	return "", "", nil, ErrInvalidToken
}

func confirmMAC(key, body []byte, proof string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(body)
	h.Write([]byte(proof))
	return h.Sum(nil)
}
