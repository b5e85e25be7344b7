package core

// SigningKey is a key that signs tokens. Private is PKCS #8 in the clear; in the file it is sealed.
type SigningKey struct {
	KID       string  `db:"kid"`
	Alg       string  `db:"alg"` // ES256 or RS256: the only one that this key signs and verifies
	Private   []byte  `db:"private"`
	CreatedAt Instant `db:"created_at"`
	ActiveAt  Instant `db:"active_at"`  // signs from here on
	RetiredAt Instant `db:"retired_at"` // signs no more from here on; 0: not planned
	ExpiresAt Instant `db:"expires_at"` // leaves the key set; 0: not planned
}

// The states of a signing key.
const (
	KeyNext    = "next"    // published, and signs later
	KeySigns   = "signs"   // signs what is issued now
	KeyRetired = "retired" // signs no more; published for what it has signed
)

// State is what the key does at an instant: KeyNext, KeySigns or KeyRetired.
func (k *SigningKey) State(now Instant) string {
	switch {
	case k.ActiveAt > now:
		return KeyNext
	case k.RetiredAt != 0 && k.RetiredAt <= now:
		return KeyRetired
	}
	return KeySigns
}
