package core

// AuthCode is an authorization code. It records what the user granted, and the client, redirect URI and challenge that
// the code is bound to. Redeeming the code creates the family FamilyID.
type AuthCode struct {
	Hash        []byte  `db:"hash"`
	FamilyID    string  `db:"family_id"`
	UserID      string  `db:"user_id"`
	ClientID    string  `db:"client_id"`
	BrowserID   string  `db:"browser_id"`
	RedirectURI string  `db:"redirect_uri"`
	Challenge   string  `db:"challenge"` // S256; empty: none
	Nonce       string  `db:"nonce"`
	Scope       string  `db:"scope"`
	Claims      string  `db:"claims"` // requested by name, as in Family.Claims
	Epoch       int64   `db:"epoch"`  // the user's epoch
	AMR         string  `db:"amr"`
	Remote      string  `db:"remote"`
	UserAgent   string  `db:"user_agent"`
	AuthAt      Instant `db:"auth_at"`
	CreatedAt   Instant `db:"created_at"`
	ExpiresAt   Instant `db:"expires_at"`
	UsedAt      Instant `db:"used_at"`
}
