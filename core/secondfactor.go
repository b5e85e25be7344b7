package core

// SecondFactor describes a user's two-factor authentication.
type SecondFactor struct {
	// when the authenticator app was set up; 0: never
	TOTPAt        Instant `db:"confirmed_at" json:"totp_at"`
	RecoveryCodes int     `db:"recovery_codes" json:"recovery_codes"` // number of unused codes
}

// Set reports whether the user has a second factor.
func (f SecondFactor) Set() bool { return f.TOTPAt != 0 }
