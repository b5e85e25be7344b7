package core

import "github.com/google/uuid"

// NewID returns a UUID of version 7 in lower case. It is random and ordered by time, which keeps new rows close
// together in an index (RFC 9562 section 5.7). It panics if the system has no source of randomness.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// ParseID parses a UUID of any version in its 36-character form, in upper or lower case, and returns it in lower
// case. ok is false for any other form, including braces and URNs.
func ParseID(s string) (id string, ok bool) {
	if len(s) != 36 {
		return "", false
	}
	u, err := uuid.Parse(s)
	if err != nil {
		return "", false
	}
	return u.String(), true
}

// IDFromBytes derives a UUID of version 8 (RFC 9562 section 5.8) from the first 16 bytes of a MAC.
func IDFromBytes(mac []byte) string {
	var u uuid.UUID
	copy(u[:], mac)
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	return u.String()
}
