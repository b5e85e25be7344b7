package auth

import (
	"encoding/binary"
	"encoding/hex"

	"newsletterd/core"
)

// UnsubscribeKind is the kind of an unsubscribe token: where the token comes from, and what it permits.
type UnsubscribeKind byte

// The kinds. A mailed token is part of an email and never expires. A requested token was requested without proof and
// lasts for RequestedTTL. An undo token reverts the unsubscribe at IssuedAt and lasts for UndoTTL. A manage token gives
// access to the tenant's data about an address and lasts for ManageTTL. It is emailed to that address only on request,
// because a forwarded email must not give such access.
const (
	UnsubscribeMailed    UnsubscribeKind = 1
	UnsubscribeRequested UnsubscribeKind = 2
	UnsubscribeUndo      UnsubscribeKind = 3
	UnsubscribeManage    UnsubscribeKind = 4
)

// UnsubscribeToken is the content of the token in an unsubscribe link. Nothing about the link is stored.
type UnsubscribeToken struct {
	Kind           UnsubscribeKind
	ListID         string
	SubscriptionID string
	Email          core.Email
	JobNo          int64 // recipient row of the email; 0: not sent by a send job
	Seq            int64
	IssuedAt       core.Instant // for a job's emails, the start of the job, so that a second copy is identical
}

// ExpiresAt returns the expiry of the token. Zero means never.
func (t UnsubscribeToken) ExpiresAt() core.Instant {
	switch t.Kind {
	case UnsubscribeRequested:
		return t.IssuedAt.Add(RequestedTTL)
	case UnsubscribeUndo:
		return t.IssuedAt.Add(UndoTTL)
	case UnsubscribeManage:
		return t.IssuedAt.Add(ManageTTL)
	default:
		return 0
	}
}

// Expired reports whether the token has expired.
func (t UnsubscribeToken) Expired(now core.Instant) bool {
	end := t.ExpiresAt()
	return end != 0 && now >= end
}

// SealUnsubscribe seals an unsubscribe or undo token. It fails only if an id is not a UUID.
func (s *Sealer) SealUnsubscribe(t UnsubscribeToken) (string, error) {
	b, err := s.AppendUnsubscribe(nil, t)
	return string(b), err
}

// AppendUnsubscribe appends the sealed token to dst. Unlike SealUnsubscribe, it allocates no string, because a worker
// creates a token for each email.
func (s *Sealer) AppendUnsubscribe(dst []byte, t UnsubscribeToken) ([]byte, error) {
	st := s.nonces.Get().(*sealState)
	defer s.nonces.Put(st)
	var ok bool
	if st.plain, ok = appendUnsubscribe(st.plain[:0], t); !ok {
		return dst, core.Invalidf("", "unsubscribe token: list and subscription must be UUIDs.")
	}
	return s.appendSeal(st, dst, purposeOf(t.Kind), st.plain), nil
}

// OpenUnsubscribe opens a mailed or requested token. The caller must check Expired. For an undo token or any other
// string, it returns core.ErrInvalidToken.
func (s *Sealer) OpenUnsubscribe(token string) (UnsubscribeToken, error) {
	return s.openUnsubscribe(purposeUnsubscribe, token)
}

// OpenUndo opens an undo token and refuses unsubscribe tokens. The caller must check Expired.
func (s *Sealer) OpenUndo(token string) (UnsubscribeToken, error) {
	return s.openUnsubscribe(purposeUndo, token)
}

// OpenManage opens a manage token and refuses all others. The caller must check Expired.
func (s *Sealer) OpenManage(token string) (UnsubscribeToken, error) {
	return s.openUnsubscribe(purposeManage, token)
}

func (s *Sealer) openUnsubscribe(purpose byte, token string) (UnsubscribeToken, error) {
	plain, err := s.Open(purpose, token)
	if err != nil {
		return UnsubscribeToken{}, err
	}
	t, ok := readUnsubscribe(plain)
	if !ok || purposeOf(t.Kind) != purpose {
		return UnsubscribeToken{}, core.ErrInvalidToken
	}
	return t, nil
}

func purposeOf(k UnsubscribeKind) byte {
	switch k {
	case UnsubscribeUndo:
		return purposeUndo
	case UnsubscribeManage:
		return purposeManage
	}
	return purposeUnsubscribe
}

// appendUnsubscribe appends the plaintext of a token: the kind, two UUIDs of 16 bytes, three varints, and the address
// at the end.
func appendUnsubscribe(b []byte, t UnsubscribeToken) (_ []byte, ok bool) {
	b = append(b, byte(t.Kind))
	if b, ok = appendUUID(b, t.ListID); !ok {
		return b, false
	}
	if b, ok = appendUUID(b, t.SubscriptionID); !ok {
		return b, false
	}
	b = binary.AppendUvarint(b, uint64(t.IssuedAt))
	b = binary.AppendUvarint(b, uint64(t.JobNo))
	b = binary.AppendUvarint(b, uint64(t.Seq))
	return append(b, t.Email...), true
}

func readUnsubscribe(b []byte) (t UnsubscribeToken, ok bool) {
	if len(b) < 33 || b[0] < byte(UnsubscribeMailed) || b[0] > byte(UnsubscribeManage) {
		return t, false
	}
	t.Kind = UnsubscribeKind(b[0])
	t.ListID, t.SubscriptionID = uuidText(b[1:17]), uuidText(b[17:33])
	b = b[33:]
	for _, field := range [...]*int64{(*int64)(&t.IssuedAt), &t.JobNo, &t.Seq} {
		v, n := binary.Uvarint(b)
		if n <= 0 || int64(v) < 0 {
			return t, false
		}
		*field, b = int64(v), b[n:]
	}
	t.Email = core.Email(b)
	return t, len(b) > 0
}

// appendUUID appends the 16 bytes of a UUID in lower-case form without allocating.
func appendUUID(b []byte, id string) ([]byte, bool) {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return b, false
	}
	for _, at := range [...]int{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34} {
		hi, lo := nibble(id[at]), nibble(id[at+1])
		if hi > 15 || lo > 15 {
			return b, false
		}
		b = append(b, hi<<4|lo)
	}
	return b, true
}

func nibble(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

func uuidText(b []byte) string {
	var t [36]byte
	hex.Encode(t[0:], b[0:4])
	hex.Encode(t[9:], b[4:6])
	hex.Encode(t[14:], b[6:8])
	hex.Encode(t[19:], b[8:10])
	hex.Encode(t[24:], b[10:16])
	t[8], t[13], t[18], t[23] = '-', '-', '-', '-'
	return string(t[:])
}
