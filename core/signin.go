package core

// The kinds of a family: how it began.
const (
	FamilyPassword = "password"
	FamilyCode     = "code"
	FamilyClient   = "client" // the client acts for itself; UserID is empty
	FamilyAdmin    = "admin"  // made on the command line
)

// Family is one sign-in of a user at a client. Its id is the sid of every token that came of it; revoking it
// ends them all.
type Family struct {
	ID        string  `db:"id" json:"id"`
	Kind      string  `db:"kind" json:"kind"`
	UserID    string  `db:"user_id" json:"-"`
	ClientID  string  `db:"client_id" json:"client_id"`
	TenantID  string  `db:"tenant_id" json:"-"` // of a token of the daemon's own: whom it acts for
	Scope     string  `db:"scope" json:"scope"`
	Epoch     int64   `db:"epoch" json:"-"` // of the user at the sign-in
	AMR       string  `db:"amr" json:"amr"`
	Remote    string  `db:"remote" json:"remote"`
	UserAgent string  `db:"user_agent" json:"user_agent"`
	BrowserID string  `db:"browser_id" json:"browser_id"` // of the code flow: where the user was signed in
	AuthAt    Instant `db:"auth_at" json:"auth_at"`
	CreatedAt Instant `db:"created_at" json:"created_at"`
	UsedAt    Instant `db:"used_at" json:"used_at"`
	ExpiresAt Instant `db:"expires_at" json:"expires_at"`
	RevokedAt Instant `db:"revoked_at" json:"revoked_at" is:"nullable"`
	Claims    string  `db:"claims" json:"claims,omitempty"` // asked for by name: words as "id_token.email"
}

// TokenState is what decides whether the tokens of a family are good at this moment, and what they may do.
type TokenState struct {
	Family
	Email         Email
	EmailVerified bool
	Roles         []Role
	Client        TokenClient
	// not revoked or expired; the user is there, enabled and of the same epoch; so is the client, its tenant active
	Live bool
}

// TokenClient is what the token endpoint must know of a client. The built-in client has no row.
type TokenClient struct {
	ID           string
	TenantID     string
	Confidential bool
	Scopes       []string
	GrantTypes   []string
	AuthMethod   string // empty: basic or post
	IDTokenAlg   string
	SecretHash   []byte
	FirstParty   bool

	IDTokenClaims bool // its ID tokens carry the name and email claims of the granted scopes

	OldSecretHash  []byte  // of the secret before
	OldSecretUntil Instant // until when that one is good, too

	Suspended bool // its tenant is
	Disabled  bool
}

// Browser is a browser in which a user is signed in here. The data of its session hold its id.
type Browser struct {
	ID        string  `db:"id" json:"id"`
	UserID    string  `db:"user_id" json:"-"`
	Epoch     int64   `db:"epoch" json:"-"`
	AMR       string  `db:"amr" json:"amr"`
	Remote    string  `db:"remote" json:"remote"`
	UserAgent string  `db:"user_agent" json:"user_agent"`
	AuthAt    Instant `db:"auth_at" json:"auth_at"`
	UsedAt    Instant `db:"used_at" json:"used_at"`
	ExpiresAt Instant `db:"expires_at" json:"expires_at"`
}

// Visitor is who is signed in in a browser.
type Visitor struct {
	Browser Browser
	User    User
	Consent []string // scopes that the user has allowed the client asked about
}

// Allowance is what a user has allowed a client.
type Allowance struct {
	ClientID   string  `db:"client_id" json:"client_id"`
	ClientName string  `db:"client_name" json:"client_name"`
	Scope      string  `db:"scope" json:"scope"`
	CreatedAt  Instant `db:"created_at" json:"created_at"`
}

// ClientSignIn is a family with the name of its client.
type ClientSignIn struct {
	Family
	ClientName string `db:"client_name" json:"client_name"`
}
