package core

// SigningKey is a key that signs tokens. Private is unencrypted PKCS #8; the database stores it encrypted.
type SigningKey struct {
	KID       string  `db:"kid"`
	Alg       string  `db:"alg"` // the key's only algorithm: ES256 or RS256
	Private   []byte  `db:"private"`
	CreatedAt Instant `db:"created_at"`
	ActiveAt  Instant `db:"active_at"`  // start of signing
	RetiredAt Instant `db:"retired_at"` // end of signing; 0: not planned
	ExpiresAt Instant `db:"expires_at"` // when it leaves the key set; 0: not planned
}

// The states of a signing key.
const (
	KeyNext    = "next"    // published, signs later
	KeySigns   = "signs"   // signs new tokens
	KeyRetired = "retired" // no longer signs; published to verify older tokens
)

// State returns the state of the key at now: KeyNext, KeySigns or KeyRetired.
func (k *SigningKey) State(now Instant) string {
	switch {
	case k.ActiveAt > now:
		return KeyNext
	case k.RetiredAt != 0 && k.RetiredAt <= now:
		return KeyRetired
	}
	return KeySigns
}
