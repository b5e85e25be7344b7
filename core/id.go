package core

import "github.com/google/uuid"

// NewID makes a UUID of version 7 in lower case: random, and ordered by time so that new rows stand
// together in an index (RFC 9562 section 5.7). It panics when the system has no randomness.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// ParseID reads a UUID of any version in its 36-character form, in either case, and returns it in
// lower case. ok is false for anything else, braces and URNs included.
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

// IDFromBytes makes a UUID of version 8 (RFC 9562 section 5.8) of the first 16 bytes of a MAC.
func IDFromBytes(mac []byte) string {
	var u uuid.UUID
	copy(u[:], mac)
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	return u.String()
}
