package core

import "unicode/utf8"

// MaxPasskeys is the maximum number of passkeys per user.
const MaxPasskeys = 20

// maxPasskeyName is the maximum length of a passkey's name, in characters.
const maxPasskeyName = 60

// Passkey is a WebAuthn credential that signs a user in without a password.
type Passkey struct {
	ID         string  `db:"id" json:"id"`
	UserID     string  `db:"user_id" json:"-"`
	RPID       string  `db:"rp_id" json:"rp_id" about:"Host that the passkey was created for; it doesn't work on others"`
	Name       string  `db:"name" json:"name"`
	Credential []byte  `db:"credential" json:"-"` // the authenticator's credential id
	PublicKey  []byte  `db:"public_key" json:"-"` // COSE (RFC 9052)
	SignCount  int64   `db:"sign_count" json:"-"`
	Synced     bool    `db:"synced" json:"synced" about:"Whether the passkey may be copied to other devices of the user"`
	CreatedAt  Instant `db:"created_at" json:"created_at"`
	UsedAt     Instant `db:"used_at" json:"used_at" is:"nullable"` // 0: never
}

// Validate checks the name.
func (p *Passkey) Validate() error {
	if n := utf8.RuneCountInString(p.Name); n == 0 || n > maxPasskeyName {
		return Invalidf("name", "The name must have 1 to %d characters.", maxPasskeyName)
	}
	return nil
}

// Counts reports whether an authenticator's signature counter is plausible, given its value at the last sign-in. A
// cloned authenticator counts separately, so one of the two eventually reports too low a count. Authenticators without
// a counter report 0 (WebAuthn section 6.1.1).
func (p *Passkey) Counts(count int64) bool {
	return count > p.SignCount || count == 0 && p.SignCount == 0
}
