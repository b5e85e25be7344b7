package core

// SecondFactor is what a user proves at the sign-in besides the password.
type SecondFactor struct {
	// when the authenticator app was set up; 0: it is not
	TOTPAt        Instant `db:"confirmed_at" json:"totp_at"`
	RecoveryCodes int     `db:"recovery_codes" json:"recovery_codes"` // that were not used yet
}

// Set reports whether the user has a second factor.
func (f SecondFactor) Set() bool { return f.TOTPAt != 0 }
