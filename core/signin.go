package core

import "time"

// The values of Family.Kind: how the sign-in started.
const (
	FamilyPassword = "password"
	FamilyCode     = "code"
	FamilyClient   = "client" // the client acts for itself; UserID is empty
	FamilyAdmin    = "admin"  // created on the command line
)

// Family is one sign-in of a user at a client. Its id is the sid of all its tokens. Revoking the family ends them all.
// The token of a client that acts for itself has no family until it is revoked.
type Family struct {
	ID        string  `db:"id" json:"id"`
	Kind      string  `db:"kind" json:"kind" about:"How the sign-in started: password, code, client or admin"`
	UserID    string  `db:"user_id" json:"-"`
	ClientID  string  `db:"client_id" json:"client_id"`
	TenantID  string  `db:"tenant_id" json:"-"` // for the daemon's own tokens: the tenant that they act for
	Scope     string  `db:"scope" json:"scope"`
	Epoch     int64   `db:"epoch" json:"-"` // of the user at the sign-in; of a client's own token: of the client
	AMR       string  `db:"amr" json:"amr"`
	Remote    string  `db:"remote" json:"remote"`
	UserAgent string  `db:"user_agent" json:"user_agent"`
	BrowserID string  `db:"browser_id" json:"browser_id" about:"Browser in which the user was signed in; empty: unknown"`
	AuthAt    Instant `db:"auth_at" json:"auth_at"`
	CreatedAt Instant `db:"created_at" json:"created_at"`
	UsedAt    Instant `db:"used_at" json:"used_at" about:"Time of the last use"`
	ExpiresAt Instant `db:"expires_at" json:"expires_at"`
	RevokedAt Instant `db:"revoked_at" json:"revoked_at" is:"nullable" about:"Time when the sign-in was ended; null: it wasn't"`
	Claims    string  `db:"claims" json:"claims,omitempty" about:"Individually requested claims, such as id_token.email"`
}

// TokenState holds the data that determines whether a family's tokens are valid, and what they permit.
type TokenState struct {
	Family
	Email         Email
	EmailVerified bool
	Roles         []Role
	Client        TokenClient
	// not revoked or expired; user exists, is enabled and has the same epoch; client exists and its tenant is active
	Live bool
}

// TokenClient is the client data that the token endpoint needs. The built-in client has no row.
type TokenClient struct {
	ID           string
	TenantID     string
	Confidential bool
	Scopes       []string
	GrantTypes   []string
	AuthMethod   string // empty means Basic or post
	IDTokenAlg   string
	SecretHash   []byte
	FirstParty   bool

	IDTokenClaims bool // whether its ID tokens contain the name and email claims of the granted scopes

	OldSecretHash  []byte  // of the previous secret
	OldSecretUntil Instant // when the previous secret expires

	Suspended bool // its tenant is suspended
	Disabled  bool
	Epoch     int64 // increases when the client is disabled, which ends the tokens it got for itself
}

// MaxAccessTTL is the maximum lifetime of an access token, except for tokens created on the command line.
const MaxAccessTTL = 24 * time.Hour

// Browser is a browser that is signed in to newsletterd. The session data contains its id.
type Browser struct {
	ID        string  `db:"id" json:"id"`
	UserID    string  `db:"user_id" json:"-"`
	Epoch     int64   `db:"epoch" json:"-"`
	AMR       string  `db:"amr" json:"amr"`
	Remote    string  `db:"remote" json:"remote"`
	UserAgent string  `db:"user_agent" json:"user_agent"`
	AuthAt    Instant `db:"auth_at" json:"auth_at"`
	UsedAt    Instant `db:"used_at" json:"used_at" about:"Time of the last use"`
	ExpiresAt Instant `db:"expires_at" json:"expires_at" about:"Time at which the sign-in ends"`
}

// Visitor is a user with the browser in which the user is signed in.
type Visitor struct {
	Browser Browser
	User    User
	Consent []string // scopes that the user has granted the client in question
}

// Allowance is a user's consent to the scopes that a client requested.
type Allowance struct {
	ClientID   string  `db:"client_id" json:"client_id"`
	ClientName string  `db:"client_name" json:"client_name"`
	Scope      string  `db:"scope" json:"scope"`
	CreatedAt  Instant `db:"created_at" json:"created_at"`
}

// ClientSignIn is a token family with its client's name.
type ClientSignIn struct {
	Family
	ClientName string `db:"client_name" json:"client_name" about:"Name of the client"`
}
