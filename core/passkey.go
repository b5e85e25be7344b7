package core

import "unicode/utf8"

// MaxPasskeys is how many passkeys a user may have.
const MaxPasskeys = 20

// maxPasskeyName is the longest name of a passkey, in characters.
const maxPasskeyName = 60

// Passkey is a WebAuthn credential by which a user signs in without a password.
type Passkey struct {
	ID         string  `db:"id" json:"id"`
	UserID     string  `db:"user_id" json:"-"`
	RPID       string  `db:"rp_id" json:"rp_id"` // host that it was made for; it is good for no other
	Name       string  `db:"name" json:"name"`
	Credential []byte  `db:"credential" json:"-"` // the authenticator's name for it
	PublicKey  []byte  `db:"public_key" json:"-"` // COSE (RFC 9052)
	SignCount  int64   `db:"sign_count" json:"-"`
	Synced     bool    `db:"synced" json:"synced"` // its maker may copy it to other devices of the user
	CreatedAt  Instant `db:"created_at" json:"created_at"`
	UsedAt     Instant `db:"used_at" json:"used_at" is:"nullable"` // 0: never
}

// Validate reports what is wrong with the name.
func (p *Passkey) Validate() error {
	if n := utf8.RuneCountInString(p.Name); n == 0 || n > maxPasskeyName {
		return Invalidf("name", "The name must have 1 to %d characters.", maxPasskeyName)
	}
	return nil
}

// Counts reports whether an authenticator that says it has signed count times is the one that signed before. Two with
// the same key count apart, so one of them has the lower count; those that count nothing say 0 (WebAuthn section
// 6.1.1).
func (p *Passkey) Counts(count int64) bool {
	return count > p.SignCount || count == 0 && p.SignCount == 0
}
